public import HoldfastHTTP
import HoldfastService

/// The proxies that are believed when they say for whom they ask.
public struct TrustedProxies: Sendable {
  /// Who asked.
  struct Client: Equatable {
    let address: String
    /// `http` or `https`; nil when nobody says.
    let scheme: String?
  }

  /// More addresses in one request are not looked at.
  private static let limit = 32

  let ranges: [IPAddress.Range]

  /// Those of some addresses.
  public init(_ ranges: [IPAddress.Range] = []) { self.ranges = ranges }

  /// Who sent a request: the last one of X-Forwarded-For that is no trusted proxy, if a trusted proxy brought it; else the peer. What stands
  /// before that may be anybody's word.
  func client(of request: HTTPRequest) -> Client {
    guard isTrusted(request.remoteAddress) else { return Client(address: request.remoteAddress, scheme: nil) }
    let scheme = request.headers["X-Forwarded-Proto"]?.split(separator: ",").last.map(Self.trimmed)?
      .lowercased()
    var address = request.remoteAddress
    let hops = (request.headers["X-Forwarded-For"] ?? "").split(
      separator: ",", omittingEmptySubsequences: false)
    for hop in hops.reversed().prefix(Self.limit) {
      guard let next = Self.address(hop) else { break }
      address = next
      if !isTrusted(next) { break }
    }
    return Client(address: address, scheme: scheme.flatMap { ["http", "https"].contains($0) ? $0 : nil })
  }

  private func isTrusted(_ text: String) -> Bool {
    guard !ranges.isEmpty, let address = IPAddress(text) else { return false }
    return ranges.contains { $0.contains(address) }
  }

  /// An address as proxies write it: some put a port behind it, and brackets around IPv6.
  private static func address(_ hop: Substring) -> String? {
    let text = trimmed(hop)
    if let plain = IPAddress(text) { return plain.text }
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
      return IPAddress(String(text[text.index(after: text.startIndex)..<end]))?.text
    }
    let parts = text.split(separator: ":")
    return parts.count == 2 ? IPAddress(String(parts[0]))?.text : nil
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.filter { $0 != " " && $0 != "\t" })
  }
}
