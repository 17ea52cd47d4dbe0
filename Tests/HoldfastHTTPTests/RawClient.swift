import Glibc
import Testing

@testable import HoldfastHTTP

/// A client that sends exactly the bytes it is told to. Every wait ends after 30 seconds at the latest, as an end of
/// the connection, so that a fault of the server fails a test and does not hang it.
final class RawClient {
  private var descriptor: Int32
  private var buffer: [UInt8] = []

  init(port: UInt16, address: String = "127.0.0.1", receiveBuffer: Int32? = nil) throws {
    guard let peer = SocketAddress(address, port: port) else { throw Failure.invalidAddress }
    descriptor = socket(peer.family, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    guard peer.withSockaddr({ connect(descriptor, $0, $1) }) == 0 else { throw Failure.refused }
  }

  deinit { close() }

  enum Failure: Error { case invalidAddress, refused, noResponse }

  /// An answer as it came.
  struct Response {
    var status: Int
    var head: String
    var body: [UInt8]

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of a header field.
    func header(_ name: String) -> String? {
      for line in head.split(separator: "\r\n").dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.first?.lowercased() == name.lowercased() {
          return parts.last.map { String($0.drop { $0 == " " }) }
        }
      }
      return nil
    }
  }

  /// Sends all of `bytes`; false if the server has closed.
  @discardableResult
  func send(_ bytes: some Collection<UInt8>) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let sent = rest.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      if sent <= 0 { return false }
      rest = rest.dropFirst(sent)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(text.utf8) }

  /// Reads one answer; it has a Content-Length unless its status or `isHead` says that there is no content.
  func readResponse(isHead: Bool = false) throws -> Response {
    let end = Array("\r\n\r\n".utf8)
    var position = find(end)
    while position == nil {
      guard readMore() else { throw Failure.noResponse }
      position = find(end)
    }
    let headEnd = position ?? 0
    let head = String(decoding: buffer[..<headEnd], as: UTF8.self)
    buffer.removeFirst(headEnd + 4)
    var response = Response(status: Int(head.split(separator: " ")[1]) ?? 0, head: head, body: [])
    let isEmpty = isHead || response.status < 200 || response.status == 204 || response.status == 304
    let length = isEmpty ? 0 : response.header("Content-Length").flatMap { Int($0) } ?? 0
    while buffer.count < length {
      guard readMore() else { throw Failure.noResponse }
    }
    response.body = Array(buffer.prefix(length))
    buffer.removeFirst(length)
    return response
  }

  /// Reads the head of an answer, and leaves what follows.
  func readHead() throws -> Response {
    let text = try #require(read(through: "\r\n\r\n"))
    return Response(status: Int(text.split(separator: " ")[1]) ?? 0, head: text, body: [])
  }

  /// Everything up to the end of `pattern`; nil if the server closes before it has come.
  func read(through pattern: String) -> String? {
    let pattern = Array(pattern.utf8)
    while true {
      if let found = find(pattern) {
        defer { buffer.removeFirst(found + pattern.count) }
        return String(decoding: buffer[..<(found + pattern.count)], as: UTF8.self)
      }
      guard readMore() else { return nil }
    }
  }

  /// Whatever else comes until the server closes; a reset counts as a close.
  func readToEnd() -> [UInt8] {
    while readMore() {}
    defer { buffer = [] }
    return buffer
  }

  /// Says that nothing more will be sent.
  func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  private func readMore() -> Bool {
    var part = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &part, part.count, 0)
    if count > 0 { buffer += part[..<count] }
    return count > 0
  }

  private func find(_ pattern: [UInt8]) -> Int? {
    guard buffer.count >= pattern.count else { return nil }
    return (0...(buffer.count - pattern.count)).first {
      buffer[$0..<($0 + pattern.count)].elementsEqual(pattern)
    }
  }
}
