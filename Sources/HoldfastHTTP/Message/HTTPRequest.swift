/// One complete request: the handler gets it when its last byte has arrived, never before.
public struct HTTPRequest: Sendable {
  /// Number of the request, unique in this process.
  public var id: UInt64
  /// The method as it was sent, such as `GET`; case matters (RFC 9110, section 9.1).
  public var method: String
  /// The request target as it was sent: path and query, still percent-encoded.
  public var target: String
  /// The header fields.
  public var headers: HTTPHeaders
  /// The content, at most `HTTPLimits.maximumBodyBytes`; transfer codings are already taken off.
  public var body: [UInt8]
  /// The peer's IP address without port, such as `192.0.2.7` or `2001:db8::7`: of a proxy, where one is in front.
  public var remoteAddress: String

  /// A request made by hand, for tests of handlers.
  public init(
    id: UInt64 = 0, method: String = "GET", target: String = "/", headers: HTTPHeaders = HTTPHeaders(),
    body: [UInt8] = [], remoteAddress: String = "127.0.0.1"
  ) {
    self.id = id
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.remoteAddress = remoteAddress
  }

  /// The target before its "?", still percent-encoded.
  public var path: Substring {
    target.utf8.firstIndex(of: UInt8(ascii: "?")).map { target[..<$0] } ?? target[...]
  }

  /// The path between its slashes, each part percent-decoded: `/a/b%20c` is `["a", "b c"]`. An empty part, as of a
  /// slash at the end, is kept. nil if the path does not start with a slash or an escape in it is wrong.
  public var pathParts: [String]? {
    let path = self.path
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    var parts: [String] = []
    parts.reserveCapacity(6)
    for part in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      // Most have no escapes.
      if !part.contains(UInt8(ascii: "%")) {
        parts.append(String(Substring(part)))
      } else if let decoded = percentDecoded(part, plusIsSpace: false) {
        parts.append(decoded)
      } else {
        return nil
      }
    }
    return parts
  }

  /// The target after its "?", still percent-encoded; empty if there is none.
  public var query: Substring {
    target.utf8.firstIndex(of: UInt8(ascii: "?")).map { target[target.utf8.index(after: $0)...] } ?? ""
  }

  /// The parameters of the query in their order, percent-decoded, "+" read as a space. A parameter without "=" has
  /// an empty value; one with a wrong escape is left out.
  public var queryItems: [(name: String, value: String)] {
    query.utf8.split(separator: UInt8(ascii: "&")).compactMap { item in
      let equals = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
      guard let name = percentDecoded(item[..<equals], plusIsSpace: true),
        let value = percentDecoded(item[equals...].dropFirst(), plusIsSpace: true)
      else { return nil }
      return (name, value)
    }
  }

  /// A part of the query percent-decoded, "+" read as a space; nil if an escape in it is wrong.
  public static func decoded(_ text: Substring) -> String? { percentDecoded(text.utf8, plusIsSpace: true) }

  /// Whether `Accept` lets the answer be of a media type, given without parameters: no `Accept` lets everything be (RFC 9110, section 12.5.1).
  public func accepts(_ type: String) -> Bool {
    guard let field = headers["Accept"], let slash = type.firstIndex(of: "/") else { return true }
    let weight = acceptedWeight(of: type, in: field) ?? acceptedWeight(of: "\(type[..<slash])/*", in: field)
    return (weight ?? acceptedWeight(of: "*/*", in: field) ?? 0) > 0
  }

  /// Whether `Accept-Encoding` names a content coding, and not with a weight of 0.
  public func acceptsCoding(_ name: String) -> Bool {
    headers["Accept-Encoding"].flatMap { acceptedWeight(of: name, in: $0) } ?? 0 > 0
  }

  /// The value of the first parameter `name` of the query, or nil.
  public func queryValue(_ name: String) -> String? {
    query.isEmpty ? nil : queryItems.first { $0.name == name }?.value
  }
}
