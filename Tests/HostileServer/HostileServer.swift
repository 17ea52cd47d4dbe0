import Foundation
import Glibc

/// A server on a free port that answers each connection with the next of its answers, byte for byte, and keeps what it was sent.
///
/// @unchecked Sendable: `requests` and `isListening` are touched under `lock` alone.
package final class HostileServer: @unchecked Sendable {
  /// What a connection gets.
  package enum Answer: Sendable {
    /// These bytes, and the end of the connection.
    case bytes([UInt8])
    /// The first bytes once, then the others again and again until the client leaves.
    case endless([UInt8], [UInt8])
    /// These bytes, then silence until the client leaves.
    case silent([UInt8])
    /// These bytes when so many requests have come, and the end of the connection.
    case late([UInt8], requests: Int)
  }

  package let url: String
  private let descriptor: Int32
  private let answers: [Answer]
  private let lock = NSCondition()
  private var requests: [[UInt8]] = []
  private var isListening = true

  /// Everything that came on each connection before it was answered.
  package var received: [[UInt8]] { lock.withLock { requests } }

  private struct NotBound: Error {}

  /// Waits until so many requests have come.
  package func wait(for count: Int) {
    lock.withLock { while requests.count < count { lock.wait() } }
  }

  /// - Parameter answers: one for each connection; then connections are closed without an answer.
  package init(_ answers: [Answer]) throws {
    self.answers = answers
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw NotBound() }
    self.descriptor = descriptor
    url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    Thread.detachNewThread { [self] in serve() }
  }

  /// Takes no more connections.
  package func stop() {
    // Once closed, its number may be that of somebody else's socket.
    lock.withLock { if isListening { shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  private func serve() {
    for answer in answers {
      let connection = accept(descriptor, nil, nil)
      if connection < 0 { break }
      Thread.detachNewThread { [self] in
        keep(readRequest(connection))
        give(answer, connection)
        shutdown(connection, Int32(SHUT_WR))
        var rest = [UInt8](repeating: 0, count: 4096)
        while recv(connection, &rest, rest.count, 0) > 0 {}
        close(connection)
      }
    }
    lock.withLock {
      isListening = false
      close(descriptor)
    }
  }

  private func keep(_ request: [UInt8]) {
    lock.withLock {
      requests.append(request)
      lock.broadcast()
    }
  }

  /// A head, and the content that it announces.
  private func readRequest(_ connection: Int32) -> [UInt8] {
    var request: [UInt8] = []
    var whole: Int?
    var piece = [UInt8](repeating: 0, count: 65536)
    while whole.map({ request.count < $0 }) ?? true {
      let count = recv(connection, &piece, piece.count, 0)
      if count <= 0 { break }
      request += piece[..<count]
      if whole == nil, let end = request.firstRange(of: [13, 10, 13, 10])?.upperBound {
        let head = String(decoding: request[..<end], as: UTF8.self).lowercased()
        let length = head.firstRange(of: "content-length: ").map {
          head[$0.upperBound...].prefix { $0.isNumber }
        }
        whole = end + (length.flatMap { Int($0) } ?? 0)
      }
    }
    return request
  }

  private func give(_ answer: Answer, _ connection: Int32) {
    func send(_ bytes: [UInt8]) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes {
          Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count <= 0 { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }
    switch answer {
    case .late(let bytes, let count):
      wait(for: count)
      _ = send(bytes)
    case .bytes(let bytes), .silent(let bytes):
      _ = send(bytes)
      if case .silent = answer {
        var byte: UInt8 = 0
        _ = recv(connection, &byte, 1, 0)
      }
    case .endless(let first, let again):
      guard send(first) else { return }
      while send(again) {}
    }
  }
}
