/// The validated request line and header fields of a request.
struct RequestHead: Sendable {
  /// How the end of the body is determined: RFC 9112, section 6.3.
  enum Framing: Equatable {
    /// There is no body.
    case none
    /// `Content-Length`, greater than 0.
    case length(Int)
    case chunked
  }

  var method: String
  /// In origin form, or `*`. The absolute form is converted to a path, and its authority to the field `Host`.
  var target: String
  var headers: HTTPHeaders
  var framing: Framing
  var isVersion10: Bool
  /// Whether the client keeps the connection open for further requests.
  var keepsAlive: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  var expectsContinue: Bool
}

extension RequestHead {
  /// Validates the lines of a head together.
  ///
  /// - Throws: `Refusal` for everything that two parsers could interpret differently, whether or not RFC 9112 permits it.
  init(_ line: RequestLine, _ fields: HTTPHeaders) throws(Refusal) {
    var headers = fields
    let hosts = headers.values(of: "host")
    guard hosts.count == 1 || hosts.isEmpty && line.isVersion10, hosts.allSatisfy(isAuthority) else {
      throw .malformed
    }
    switch line.target {
    case .plain(let target): self.target = target
    case .absolute(let authority, let target):
      // RFC 9112, section 3.2.2: the Host field is then ignored.
      self.target = target.isEmpty ? line.method == "OPTIONS" ? "*" : "/" : target
      headers.replace("Host", with: authority)
    }
    if target == "*", line.method != "OPTIONS" { throw .malformed }
    framing = try Self.framing(headers, isVersion10: line.isVersion10)
    let options = headers["Connection"]?.lowercased().split(separator: ",").map(trimmed) ?? []
    keepsAlive = !options.contains("close") && (!line.isVersion10 || options.contains("keep-alive"))
    let expectation = headers["Expect"]?.lowercased()
    // In HTTP/1.0 it is ignored: RFC 9110, section 10.1.1.
    if let expectation, expectation != "100-continue", !line.isVersion10 { throw .unknownExpectation }
    expectsContinue = expectation != nil && !line.isVersion10 && framing != .none
    method = line.method
    isVersion10 = line.isVersion10
    self.headers = headers
  }

  private static func framing(_ headers: HTTPHeaders, isVersion10: Bool) throws(Refusal) -> Framing {
    let codings = headers.values(of: "transfer-encoding")
    let lengths = headers.values(of: "content-length")
    switch (codings.count, lengths.count) {
    case (0, 0): return .none
    case (0, 1):
      guard !lengths[0].isEmpty, lengths[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        throw .malformed
      }
      guard let length = Int(lengths[0]) else { throw .tooLarge }
      return length == 0 ? .none : .length(length)
    case (1, 0) where !isVersion10:
      let names = codings[0].lowercased().split(separator: ",", omittingEmptySubsequences: false).map(trimmed)
      if names == ["chunked"] { return .chunked }
      // Ambiguous: an invalid list of names, or "chunked" anywhere but once at the end.
      guard names.allSatisfy({ isFieldName($0) }), names.dropLast().allSatisfy({ $0 != "chunked" }) else {
        throw .malformed
      }
      throw .notImplemented
    default: throw .malformed
    }
  }
}

private func trimmed(_ text: Substring) -> String {
  let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
  var text = text.drop(while: isBlank)
  while let last = text.last, isBlank(last) { text.removeLast() }
  return String(text)
}

/// Whether a text is a host with an optional port. An empty text is valid, for a client without a name for the server.
func isAuthority(_ text: String) -> Bool {
  let bytes = Array(text.utf8)
  var host = bytes[...]
  if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), bytes[colon...].dropFirst().allSatisfy(isDigit) {
    host = bytes[..<colon]
    let port = bytes[(colon + 1)...]
    if !port.isEmpty, UInt16(String(decoding: port, as: UTF8.self)) == nil { return false }
  }
  if host.first == UInt8(ascii: "[") {
    return host.last == UInt8(ascii: "]") && host.count > 2
      && host.dropFirst().dropLast().allSatisfy {
        isHexadecimal($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
      }
  }
  return host.allSatisfy {
    isDigit($0) || (0x61...0x7A).contains($0 | 0x20) || "-._~%!$&'()*+;=".utf8.contains($0)
  }
}

private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

private func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x61...0x66).contains(byte | 0x20) }
