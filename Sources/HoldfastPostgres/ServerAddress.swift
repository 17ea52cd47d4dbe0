internal import CPostgres

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

/// One of the addresses that a connection string names.
struct ServerAddress: Equatable {
  /// A name, an address or the folder of a socket; empty if the string has an address alone.
  var host: String
  /// The numeric address; empty for a socket, and for a name that is not resolved.
  var address: String
  var port: String

  /// The address that an attempt tries.
  init(triedBy connection: OpaquePointer) {
    func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
    host = text(PQhost(connection))
    address = text(PQhostaddr(connection))
    port = text(PQport(connection))
  }

  private init(host: String, address: String, port: String) {
    (self.host, self.address, self.port) = (host, address, port)
  }

  /// Whether both are the same server. An attempt names an address without a host as its host.
  func isSame(as other: ServerAddress) -> Bool {
    port == other.port && address == other.address && (!address.isEmpty || host == other.host)
  }

  /// All addresses of lists as libpq takes them. A name counts as often as it has addresses.
  static func all(hosts: String, addresses: String, ports: String) -> [ServerAddress] {
    func items(_ list: String) -> [String] {
      list.isEmpty ? [] : list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }
    let (hosts, addresses, ports) = (items(hosts), items(addresses), items(ports))
    return (0..<max(hosts.count, addresses.count)).flatMap { place -> [ServerAddress] in
      func item(_ list: [String]) -> String { place < list.count ? list[place] : "" }
      let port = ports.count == 1 ? ports[0] : item(ports)
      let name = item(addresses).isEmpty ? item(hosts) : item(addresses)
      let found = name.hasPrefix("/") || name.hasPrefix("@") ? [] : resolve(name)
      return (found.isEmpty ? [item(addresses)] : found).map {
        ServerAddress(host: item(hosts), address: $0, port: port)
      }
    }
  }

  /// The settings that name these addresses alone.
  static func settings(_ list: [ServerAddress]) -> [(String, String)] {
    [
      ("host", list.map(\.host).joined(separator: ",")),
      ("hostaddr", list.map(\.address).joined(separator: ",")),
      ("port", list.map(\.port).joined(separator: ",")),
    ]
  }

  private static func resolve(_ name: String) -> [String] {
    if name.isEmpty { return [] }
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    // Otherwise each address comes once for each kind of socket.
    hints.ai_protocol = Int32(IPPROTO_TCP)
    var first: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &first) == 0 else { return [] }
    defer { freeaddrinfo(first) }
    return sequence(first: first) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { info in
      guard let info = info?.pointee else { return nil }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { text in
        let status = getnameinfo(
          info.ai_addr, info.ai_addrlen, text.baseAddress, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        return status == 0 ? text.baseAddress.map { String(cString: $0) } : nil
      }
    }
  }
}
