/// An IP address without a port; one of IPv4 that came as `::ffff:a.b.c.d` is that of IPv4.
public struct IPAddress: Sendable, Hashable {
  /// 4 bytes of IPv4, 16 of IPv6.
  let bytes: [UInt8]

  /// The address of a text such as `192.0.2.7` or `2001:db8::7`; nil for any other, names among them.
  public init?(_ text: String) {
    guard text.utf8.count <= 64, let address = SocketAddress(text, port: 0) else { return nil }
    bytes = address.bytes
  }

  init(_ address: SocketAddress) { bytes = address.bytes }

  fileprivate init(bytes: [UInt8]) { self.bytes = bytes }

  /// The address as text.
  public var text: String { SocketAddress.text(bytes) }

  /// What one subscriber has: the address, of IPv6 its /64 network.
  public var network: String {
    if bytes.count == 4 { return text }
    return IPAddress(bytes: bytes[..<8] + [UInt8](repeating: 0, count: 8)).text + "/64"
  }

  /// What one customer of a provider may have: of IPv4 the /24 network, of IPv6 the /48.
  public var site: String {
    let kept = bytes.count == 4 ? 3 : 6
    let first = bytes.prefix(kept) + [UInt8](repeating: 0, count: bytes.count - kept)
    return "\(IPAddress(bytes: Array(first)).text)/\(8 * kept)"
  }

  /// Addresses that begin with the same bits.
  public struct Range: Sendable, Hashable {
    private let address: IPAddress
    private let prefix: Int

    /// Reads `ADDRESS` or `ADDRESS/PREFIX`; nil when it is neither.
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

    /// Whether an address is one of them.
    public func contains(_ other: IPAddress) -> Bool {
      guard other.bytes.count == address.bytes.count else { return false }
      let whole = prefix / 8
      guard address.bytes[..<whole] == other.bytes[..<whole] else { return false }
      let rest = prefix % 8
      return rest == 0 || (address.bytes[whole] ^ other.bytes[whole]) >> (8 - UInt8(rest)) == 0
    }
  }
}
