import Foundation
import Holdfast
import HoldfastCore
import Testing

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One connection of a program that speaks REST: a socket on which requests follow each other. Blocks; for one thread at a time.
final class RestConnection {
  struct Answer: Equatable {
    let status: Int
    /// By their names in lower case.
    let headers: [String: String]
    let body: [UInt8]

    var isReplay: Bool { headers["idempotency-replayed"] == "true" }
    var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
  }

  private let port: Int
  private var descriptor: Int32
  private var buffer: [UInt8] = []
  let token: String?

  /// - Parameters:
  ///   - port: of the server, on this machine.
  ///   - token: of a session, for all requests.
  init(port: Int, token: String? = nil) throws {
    (self.port, self.token) = (port, token)
    descriptor = try Self.connected(to: port)
  }

  private static func connected(to port: Int) throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      close(descriptor)
      throw StoreError(.offline, "No connection to port \(port).")
    }
    return descriptor
  }

  /// Connects again if the server has closed the connection, as it does after some time without a request.
  private func reconnect() throws {
    var byte: UInt8 = 0
    guard buffer.isEmpty, recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0 else {
      return
    }
    let other = try Self.connected(to: port)
    close(descriptor)
    descriptor = other
  }

  deinit { close(descriptor) }

  /// Makes an account, and gives the token of its first session.
  static func signUp(_ name: String, port: Int) throws -> String {
    try session("/v1/accounts", name, port: port)
  }

  /// Gives the token of one more session of an account.
  static func signIn(_ name: String, port: Int) throws -> String {
    try session("/v1/sessions", name, port: port)
  }

  private static func session(_ path: String, _ name: String, port: Int) throws -> String {
    let answer = try RestConnection(port: port).send(
      "POST", path,
      ["name": .string(name), "password": "correct-horse", "device": ["name": "program"]])
    return try #require(answer.json["token"]?.stringValue)
  }

  /// Sends one request and reads its answer.
  func send(
    _ method: String, _ path: String, _ body: JSONValue? = nil, id: String? = nil,
    headers: [String: String] = [:]
  ) throws -> Answer {
    try sendOnly(method, path, body, id: id, headers: headers)
    return try readAnswer()
  }

  /// Sends one request, and reads nothing.
  func sendOnly(
    _ method: String, _ path: String, _ body: JSONValue? = nil, id: String? = nil,
    headers: [String: String] = [:]
  ) throws {
    let content = body?.bytes ?? []
    var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.count)\r\n"
    if body != nil { head += "Content-Type: application/json\r\n" }
    if let token { head += "Authorization: Bearer \(token)\r\n" }
    if let id { head += "X-Client-Request-ID: \(id)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    try reconnect()
    try write(Array((head + "\r\n").utf8) + content)
  }

  /// Sends one request until the server is not too busy for it.
  func insist(_ method: String, _ path: String, _ body: JSONValue? = nil, id: String) throws -> Answer {
    while true {
      let answer = try send(method, path, body, id: id)
      if answer.status != 503 { return answer }
    }
  }

  private func write(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      #if canImport(Glibc)
        let flags = Int32(MSG_NOSIGNAL)
      #else
        let flags: Int32 = 0
      #endif
      let count = bytes[sent...].withUnsafeBytes {
        #if canImport(Glibc)
          Glibc.send(descriptor, $0.baseAddress, $0.count, flags)
        #else
          Darwin.send(descriptor, $0.baseAddress, $0.count, flags)
        #endif
      }
      if count <= 0 { throw StoreError(.offline, "The connection is broken.") }
      sent += count
    }
  }

  private func readAnswer() throws -> Answer {
    let end = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    while headEnd == nil {
      headEnd = buffer.firstRange(of: end)?.upperBound
      if headEnd == nil { try readMore() }
    }
    let lines = String(decoding: buffer[..<(headEnd ?? 0)], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.last?.trimmingCharacters(in: .whitespaces)
    }
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    while buffer.count < (headEnd ?? 0) + length { try readMore() }
    let body = Array(buffer[(headEnd ?? 0)..<((headEnd ?? 0) + length)])
    buffer.removeFirst((headEnd ?? 0) + length)
    return Answer(status: status, headers: headers, body: body)
  }

  private func readMore() throws {
    var chunk = [UInt8](repeating: 0, count: 16384)
    let count = recv(descriptor, &chunk, chunk.count, 0)
    if count <= 0 { throw StoreError(.offline, "The connection is broken.") }
    buffer += chunk[..<count]
  }
}
