import Foundation
import HoldfastPostgres
import HoldfastSystem
import Synchronization
import TemporaryPostgres
import Testing

/// Passes bytes between a client and a server, until the client sends a word: from then on the client is sent nothing.
private final class Relay: Sendable {
  let port: UInt16
  private let isSilent = Atomic<Bool>(false)

  init(to server: UInt16, silentAfter word: String) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) + listen(listener, 1) + getsockname(listener, $0, &length)
      }
    }
    try #require(bound == 0)
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      let client = accept(listener, nil, nil)
      let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = Self.address(server)
      _ = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(other, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      Thread.detachNewThread { [self] in
        pass(from: other, to: client) { _ in isSilent.load(ordering: .acquiring) }
      }
      pass(from: client, to: other) { bytes in
        if String(decoding: bytes, as: UTF8.self).contains(word) {
          isSilent.store(true, ordering: .releasing)
        }
        return false
      }
      close(listener)
    }
  }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  private func pass(from source: Int32, to target: Int32, isDropped: ([UInt8]) -> Bool) {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(source, &bytes, bytes.count)
      if count <= 0 { break }
      if !isDropped(Array(bytes[..<count])) { _ = write(target, bytes, count) }
    }
    shutdown(target, Int32(SHUT_RDWR))
  }
}

@Suite("A server that falls silent") struct SilentServerTests {
  @Test("while it is asked for the plan of a slow statement, the answer of that one is given all the same")
  func plan() throws {
    var url = try #require(URLComponents(string: TemporaryPostgres.shared.makeDatabase()))
    let relay = try Relay(to: UInt16(try #require(url.port)), silentAfter: "BEGIN READ ONLY")
    url.port = Int(relay.port)
    var options = PostgresOptions()
    options.slow = SlowStatements(over: .zero) { _ in }
    let connection = try PostgresConnection(try #require(url.string), options: options)
    #expect(try connection.query("SELECT 7::bigint").int64(0, 0) == 7)
    #expect(!connection.isUsable)
  }
}
