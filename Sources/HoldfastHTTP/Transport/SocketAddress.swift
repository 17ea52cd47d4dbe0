import Glibc

/// An IP address and port, without names: no DNS lookups.
struct SocketAddress {
  /// A `sockaddr_in` or `sockaddr_in6`.
  private var storage = sockaddr_storage()

  /// Parses an IPv4 or IPv6 address; nil if it is neither.
  init?(_ text: String, port: UInt16) {
    var v4 = sockaddr_in()
    var v6 = sockaddr_in6()
    if inet_pton(AF_INET, text, &v4.sin_addr) == 1 {
      v4.sin_family = sa_family_t(AF_INET)
      v4.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v4, as: sockaddr_in.self) }
    } else if inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 {
      v6.sin6_family = sa_family_t(AF_INET6)
      v6.sin6_port = port.bigEndian
      withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: v6, as: sockaddr_in6.self) }
    } else {
      return nil
    }
  }

  /// The address that `fill` writes, for example with `getsockname`; nil if it fails.
  init?(_ fill: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { fill($0, &length) }
    }
    if result < 0 { return nil }
  }

  var family: Int32 { Int32(storage.ss_family) }

  var port: UInt16 {
    // At the same offset in both structures.
    withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
  }

  /// 4 bytes for IPv4, including `::ffff:a.b.c.d`; 16 for IPv6.
  var bytes: [UInt8] {
    withUnsafeBytes(of: storage) { raw in
      if family == AF_INET { return Array(raw[4..<8]) }
      let v6 = Array(raw[8..<24])
      let isMapped = v6[0..<10].allSatisfy { $0 == 0 } && v6[10] == 0xFF && v6[11] == 0xFF
      return isMapped ? Array(v6[12...]) : v6
    }
  }

  /// The unit of limits per address: for IPv6 the /64 network, which one subscriber has.
  var key: [UInt8] { Array(bytes.prefix(8)) }

  /// The address without port.
  var text: String { Self.text(bytes) }

  /// The text of 4 bytes of IPv4, or 16 of IPv6.
  static func text(_ bytes: [UInt8]) -> String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &buffer, socklen_t(buffer.count))
    return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }

  func withSockaddr<Value>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
    let length = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
    return withUnsafePointer(to: storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }
}
