/// The first line of a request: RFC 9112, section 3.
struct RequestLine {
  enum Target: Equatable {
    /// A path with an optional query, or `*`.
    case plain(String)
    /// `http://authority/path`, as sent to proxies.
    case absolute(authority: String, target: String)
  }

  /// Longer than any registered method.
  private static let methodLimit = 32

  let method: String
  let target: Target
  let isVersion10: Bool

  /// Parses the line, without its end.
  ///
  /// - Throws: `Refusal`. Exactly one space separates the parts, and a target has only visible ASCII characters.
  init(_ bytes: UnsafeRawBufferPointer) throws(Refusal) {
    let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[1].isEmpty else { throw .malformed }
    let method = String(decoding: parts[0], as: UTF8.self)
    guard isFieldName(method), method.utf8.count <= Self.methodLimit else { throw .malformed }
    switch String(decoding: parts[2], as: UTF8.self) {
    case "HTTP/1.1": isVersion10 = false
    case "HTTP/1.0": isVersion10 = true
    default: throw Self.isVersion(parts[2]) ? .unknownVersion : .malformed
    }
    // The authority form of CONNECT is not supported.
    if method == "CONNECT" { throw .notImplemented }
    guard parts[1].allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw .malformed
    }
    self.method = method
    target = try Self.target(String(decoding: parts[1], as: UTF8.self))
  }

  private static func target(_ text: String) throws(Refusal) -> Target {
    if text.utf8.first == UInt8(ascii: "/") || text == "*" { return .plain(text) }
    guard let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) else {
      throw .malformed
    }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.isEmpty, authority.first != ":", isAuthority(String(authority)) else { throw .malformed }
    let path = rest.dropFirst(authority.count)
    return .absolute(
      authority: String(authority), target: path.first == "?" ? "/" + path : String(path))
  }

  /// Whether it is `HTTP/` with two numbers.
  private static func isVersion(_ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return bytes.count == 8 && bytes.starts(with: "HTTP/".utf8)
      && digits.contains(bytes[bytes.startIndex + 5])
      && bytes[bytes.startIndex + 6] == UInt8(ascii: ".") && digits.contains(bytes[bytes.startIndex + 7])
  }
}
