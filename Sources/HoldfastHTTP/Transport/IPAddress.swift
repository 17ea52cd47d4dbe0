/// An IP address without a port. `::ffff:a.b.c.d` becomes the IPv4 address.
public struct IPAddress: Sendable, Hashable {
  /// 4 bytes for IPv4, 16 for IPv6.
  let bytes: [UInt8]

  /// Parses an address such as `192.0.2.7` or `2001:db8::7`; nil for any other text, including names.
  public init?(_ text: String) {
    guard text.utf8.count <= 64, let address = SocketAddress(text, port: 0) else { return nil }
    bytes = address.bytes
  }

  init(_ address: SocketAddress) { bytes = address.bytes }

  fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

  /// The address as text.
  public var text: String { SocketAddress.text(bytes) }

  /// The network of one subscriber: the address for IPv4, its /64 for IPv6.
  public var network: String {
    if bytes.count == 4 { return text }
    return IPAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)).text + "/64"
  }

  /// The network of an address given as text; the text itself if it is no address.
  public static func network(of text: String) -> String {
    // An IPv4 address is its own network.
    text.utf8.contains(UInt8(ascii: ":")) ? IPAddress(text)?.network ?? text : text
  }

  /// The largest network that one customer of a provider usually has: the /24 for IPv4, the /48 for IPv6.
  public var site: String {
    let kept = bytes.count == 4 ? 3 : 6
    let first = bytes.prefix(kept) + [UInt8](repeating: 0, count: bytes.count - kept)
    return "\(IPAddress(bytes: Array(first)).text)/\(8 * kept)"
  }

  /// The addresses with a common prefix.
  public struct Range: Sendable, Hashable {
    private let address: IPAddress
    private let prefix: Int

    /// Parses `ADDRESS` or `ADDRESS/PREFIX`; nil if invalid.
    public init?(_ text: String) {
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard (1...2).contains(parts.count), let address = IPAddress(String(parts[0])) else { return nil }
      let bits = address.bytes.count * 8
      guard let prefix = parts.count == 1 ? bits : Int(parts[1]), (0...bits).contains(prefix) else {
        return nil
      }
      self.address = address
      self.prefix = prefix
    }

    /// Whether it contains an address.
    public func contains(_ other: IPAddress) -> Bool {
      guard other.bytes.count == address.bytes.count else { return false }
      let whole = prefix / 8
      guard address.bytes[..<whole] == other.bytes[..<whole] else { return false }
      let rest = prefix % 8
      return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - UInt8(rest)) == 0
    }
  }
}
