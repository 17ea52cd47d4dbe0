import Foundation
import Glibc
import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastSystem
import ServerScenes
import Testing

@testable import HoldfastServer

/// The log and the metrics say what was sent.
@Suite("The log of answers") struct AnswerLogTests {
  /// The log, as a thread that waits for its lines.
  ///
  /// @unchecked Sendable: `lines` is accessed only with the lock held.
  private final class Lines: @unchecked Sendable {
    private let lock = Lock()
    private var lines: [JSONValue] = []

    func add(_ line: String) {
      guard let value = try? JSONValue(parsing: Array(line.utf8)), value["event"]?.stringValue == "request"
      else {
        return
      }
      lock.hold {
        lines.append(value)
        lock.broadcast()
      }
    }

    /// The lines about requests, when there are so many, or after 30 seconds.
    func take(_ count: Int) -> [JSONValue] {
      let deadline = MonotonicTime.exact + .seconds(30)
      return lock.hold {
        while lines.count < count, deadline.remaining > 0 { lock.wait(until: deadline) }
        return lines
      }
    }
  }

  /// A connection that has sent a request.
  private final class Connection {
    private let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)

    init(_ server: Server, _ request: String) throws {
      // So that a large answer does not fit into the system's buffers.
      var size: Int32 = 4096
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = server.port.bigEndian
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      try #require(isConnected)
      let bytes = Array(request.utf8)
      try #require(send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
    }

    deinit { close(descriptor) }

    /// The answer, to the end of the connection.
    func readToEnd() -> String {
      var answer: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count <= 0 { return String(decoding: answer, as: UTF8.self) }
        answer += buffer[..<count]
      }
    }
  }

  /// Runs a server whose log is kept.
  private func serve(
    _ change: (inout Configuration, _ folder: URL) throws -> Void = { _, _ in },
    _ body: (Server, Lines) throws -> Void
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let lines = Lines()
    var configuration = Configuration(
      schema: try MergeSchema.schema(), database: .directory(folder.appendingPathComponent("data").path),
      log: { lines.add($0) })
    configuration.metrics = MetricsAddress(host: "127.0.0.1", port: 0)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try change(&configuration, folder)
    let server = try Server(configuration)
    defer { server.stop() }
    try body(server, lines)
  }

  @Test(
    "what is refused is logged and counted under the id that its client gets, without the unknown part of its address (I10)",
    arguments: [
      ("GET\r\n\r\n", 400, "", ""), ("GET / HTTP/3.0\r\n\r\n", 505, "", ""),
      ("GET /v1/zones HTTP/1.1\r\nHost: h\r\nbad name: x\r\n\r\n", 400, "GET", "/v1/zones"),
      ("GET /\(String(repeating: "x", count: 20_000))", 414, "", ""),
      ("GET /v1/users%3Fname=dora HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 404, "GET", "/v1/*"),
      ("GET /v1/users?name=dora HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 401, "GET", "/v1/users"),
      (
        "GET /v1/zones/dora/list HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", 404, "GET", "/v1/zones/*"
      ),
      ("PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "PUT", "/*"),
    ])
  func refused(text: String, status: Int, method: String, path: String) throws {
    try serve { server, lines in
      let answer = try Connection(server, text).readToEnd()
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
      let line = try #require(lines.take(1).first)
      #expect(line["status"]?.integerValue == Int64(status))
      #expect(line["method"]?.stringValue == method)
      #expect(line["path"]?.stringValue == path)
      let id = try #require(line["request_id"]?.stringValue)
      #expect(answer.contains("X-Request-ID: \(id)\r\n"))
      #expect(line["level"]?.stringValue == "info")
      #expect(server.dispatcher.metricsText(connections: 0, codings: 0).contains("status=\"\(status)\"} 1\n"))
      server.stop()
      #expect(lines.take(1).count == 1)
    }
  }

  @Test("an answer that has no room is logged and counted as what its client gets: 503")
  func noRoom() throws {
    try serve { configuration, folder in
      // More than the system's buffers take, also compressed.
      let web = folder.appendingPathComponent("web")
      try FileManager.default.createDirectory(at: web, withIntermediateDirectories: true)
      var random = SystemRandomNumberGenerator()
      let numbers = (0..<(3 << 19)).map { _ in random.next() }
      let text = numbers.withUnsafeBytes { Data($0) }.base64EncodedData()
      try text.prefix(16 << 20).write(to: web.appendingPathComponent("large.txt"))
      configuration.webFolder = web.path
      configuration.limits.maximumAnswerBytes = 1
    } _: { server, lines in
      // The first may exceed the limit.
      let first = try Connection(
        server, "GET /large.txt HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
      #expect(lines.take(1).first?["status"]?.integerValue == 200)
      let answer = try Connection(
        server, "GET /openapi.json HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
      ).readToEnd()
      withExtendedLifetime(first) {}
      #expect(answer.hasPrefix("HTTP/1.1 503 "))
      let line = try #require(lines.take(2).dropFirst().first)
      #expect(line["status"]?.integerValue == 503)
      #expect(line["problem"]?.stringValue == "busy")
      #expect(answer.contains("X-Request-ID: \(line["request_id"]?.stringValue ?? "?")\r\n"))
      #expect(server.dispatcher.metricsText(connections: 0, codings: 0).contains("problem=\"busy\"} 1\n"))
    }
  }

  @Test("what clients alone cause is no error of the server")
  func levels() throws {
    let lines = Locked<[String]>([])
    let log = RequestLog({ line in lines.withLock { $0.append(line) } }, from: .debug, slow: nil, now: { 0 })
    let entry = RequestLog.Entry(
      id: "1", method: "POST", path: "/v1/sync", address: "192.0.2.1", scheme: nil, trace: nil, started: .now,
      crossOrigin: [], client: .server)
    for (status, problem) in [
      (507, "zone-full"), (501, "not-implemented"), (505, "version-unsupported"), (507, "storage-full"),
      (500, "internal-error"), (503, "busy"), (500, nil), (404, "not-found"), (200, nil),
    ] as [(Int, String?)] {
      log.request(entry, RequestLog.Result(status: status, problem: problem))
    }
    log.request(entry, RequestLog.Result(status: 200).cut)
    let values = try lines.withLock { $0 }.map { try JSONValue(parsing: Array($0.utf8)) }
    #expect(
      values.map { $0["level"]?.stringValue } == [
        "info", "info", "info", "error", "error", "error", "error", "info", "info", "warning",
      ])
    #expect(values.map { $0["cut"]?.boolValue ?? false } == [Bool](repeating: false, count: 9) + [true])
  }

  @Test("all addresses of a /64 network, and all addresses of a user, have one share of the unread answers")
  func payers() {
    func entry(_ address: String, _ client: Client) -> RequestLog.Entry {
      RequestLog.Entry(
        id: "1", method: "GET", path: "/", address: address, scheme: nil, trace: nil, started: .now,
        crossOrigin: [], client: client)
    }
    #expect(
      entry("2001:db8::1", .at("2001:db8::1")).payers == entry("2001:db8::ffff:2", .at("2001:db8::1")).payers)
    #expect(entry("2001:db8::1", .server).payers != entry("2001:db8:0:1::1", .server).payers)
    #expect(entry("192.0.2.1", .user("ada")).payers == ["192.0.2.1", "ada"])
    #expect(Client.at("2001:db8::1") == Client.at("2001:db8::2"))
  }
}
