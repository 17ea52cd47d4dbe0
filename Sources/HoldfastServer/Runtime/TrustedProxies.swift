public import HoldfastHTTP
import HoldfastService

/// The proxies whose statements about the client are trusted.
public struct TrustedProxies: Sendable {
  /// The client of a request.
  struct Client: Equatable {
    let address: String
    /// `http` or `https`; nil if no trusted proxy states it.
    let scheme: String?
  }

  /// The number of X-Forwarded-For entries that are examined.
  private static let limit = 32

  let ranges: [IPAddress.Range]

  /// The proxies in some address ranges.
  public init(_ ranges: [IPAddress.Range] = []) { self.ranges = ranges }

  /// The client of a request. If the peer is a trusted proxy, it is the last X-Forwarded-For entry that is not a trusted proxy. Otherwise
  /// it is the peer. Earlier entries can be forged.
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

  /// Parses an address as proxies write it: optionally with a port, and with brackets around IPv6.
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
