/// A complete request. The handler receives it after its last byte has arrived.
public struct HTTPRequest: Sendable {
  /// The number of the request, unique in this process.
  public var id: UInt64
  /// The method as sent, such as `GET`; case-sensitive (RFC 9110, section 9.1).
  public var method: String
  /// The request target as sent: path and query, percent-encoded.
  public var target: String
  /// The header fields.
  public var headers: HTTPHeaders
  /// The body, at most `HTTPLimits.maximumBodyBytes`, with transfer codings removed.
  public var body: [UInt8]
  /// The peer's IP address without port, such as `192.0.2.7` or `2001:db8::7`. Behind a proxy it is the proxy's.
  public var remoteAddress: String
  /// Whether it came over the server's own TLS.
  public var isSecure: Bool

  /// Creates a request, for tests of handlers.
  public init(
    id: UInt64 = 0, method: String = "GET", target: String = "/", headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = [], remoteAddress: String = "127.0.0.1", isSecure: Bool = false
  ) {
    self.id = id
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.remoteAddress = remoteAddress
    self.isSecure = isSecure
  }

  /// The target before its "?", percent-encoded.
  public var path: Substring { questionMark.map { target[..<$0] } ?? target[...] }

  /// The place of the "?" in the target; nil if there is none.
  private var questionMark: String.Index? {
    var target = target
    let offset = target.withUTF8 { $0.firstIndex(of: UInt8(ascii: "?")) }
    return offset.map { target.utf8.index(target.startIndex, offsetBy: $0) }
  }

  /// The percent-decoded parts of the path: `/a/b%20c` is `["a", "b c"]`. Empty parts are kept, such as after a trailing slash. Nil if the
  /// path does not start with a slash, or has an invalid escape.
  public var pathParts: [String]? {
    var target = target
    return target.withUTF8 { target in
      let path = target.prefix { $0 != UInt8(ascii: "?") }
      guard path.first == UInt8(ascii: "/") else { return nil }
      var parts: [String] = []
      parts.reserveCapacity(6)
      for part in path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
        // Most have no escapes.
        if !part.contains(UInt8(ascii: "%")) {
          parts.append(String(decoding: part, as: UTF8.self))
        } else if let decoded = percentDecoded(part, plusIsSpace: false) {
          parts.append(decoded)
        } else {
          return nil
        }
      }
      return parts
    }
  }

  /// The target after its "?", percent-encoded; empty if there is none.
  public var query: Substring {
    questionMark.map { target[target.utf8.index(after: $0)...] } ?? ""
  }

  /// The parameters of the query in order, percent-decoded, with "+" as a space. A parameter without "=" has an empty value; one with an
  /// invalid escape is left out.
  public var queryItems: [(name: String, value: String)] {
    query.utf8.split(separator: UInt8(ascii: "&")).compactMap { item in
      let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
      guard let name = percentDecoded(item[..<equals], plusIsSpace: true),
        let value = percentDecoded(item[equals...].dropFirst(), plusIsSpace: true)
      else { return nil }
      return (name, value)
    }
  }

  /// Percent-decodes a part of the query, with "+" as a space; nil for an invalid escape.
  public static func decoded(_ text: Substring) -> String? { percentDecoded(text.utf8, plusIsSpace: true) }

  /// Whether `Accept` permits a media type, given without parameters. A missing `Accept` permits every type (RFC 9110, section 12.5.1).
  public func accepts(_ type: String) -> Bool {
    guard let field = headers["Accept"], let slash = type.firstIndex(of: "/") else { return true }
    let weight = acceptedWeight(of: type, in: field) ?? acceptedWeight(of: "\(type[..<slash])/*", in: field)
    return (weight ?? acceptedWeight(of: "*/*", in: field) ?? 0) > 0
  }

  /// Whether `Accept-Encoding` names a content coding with a weight above 0.
  public func acceptsCoding(_ name: String) -> Bool {
    headers["Accept-Encoding"].flatMap { acceptedWeight(of: name, in: $0) } ?? 0 > 0
  }

  /// The value of the first query parameter `name`; nil if absent.
  public func queryValue(_ name: String) -> String? {
    query.isEmpty ? nil : queryItems.first { $0.name == name }?.value
  }
}
