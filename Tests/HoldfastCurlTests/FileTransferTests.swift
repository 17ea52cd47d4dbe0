import Foundation
import HostileServer
import Synchronization
import Testing

@testable import HoldfastCurl

/// Contents that come from a file, and go where they are received.
@Suite("Files over libcurl") struct FileTransferTests {
  private static func answer(_ head: String, _ body: [UInt8]) -> HostileServer.Answer {
    .bytes([UInt8]("HTTP/1.1 \(head)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
  }

  /// Sends a file of these bytes.
  private func put(_ bytes: [UInt8], _ client: HTTPClient, _ server: HostileServer) throws -> Int {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    var request = HTTPClientRequest(method: "PUT", url: server.url + "/backups/a")
    request.file = path
    return try client.sendAndWait(request).head.status
  }

  @Test("a file leaves as it is, also an empty one, and again where a kept connection was closed (I1)")
  func file() throws {
    let contents = [(0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }, [], [1, 2, 3]]
    let server = try HostileServer(contents.map { _ in Self.answer("200 OK", []) })
    defer { server.stop() }
    let client = HTTPClient()
    for bytes in contents { #expect(try put(bytes, client, server) == 200) }
    for (request, bytes) in zip(server.received, contents) {
      let head = String(decoding: request.prefix(200), as: UTF8.self)
      #expect(
        head.hasPrefix("PUT /backups/a HTTP/1.1\r\n") && head.contains("Content-Length: \(bytes.count)\r\n"))
      #expect(request.suffix(bytes.count) == bytes[...])
    }
  }

  @Test("a file that can't be read is no request")
  func missing() throws {
    var request = HTTPClientRequest(method: "PUT", url: "http://127.0.0.1:1/")
    request.file = "/none"
    let error = #expect(throws: HTTPClientError.self) { try HTTPClient().sendAndWait(request) }
    #expect(error?.code == .invalidRequest)
  }

  @Test("the content of a 200 goes to the receiver, that of another answer to the result")
  func download() throws {
    let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }
    let server = try HostileServer([Self.answer("200 OK", bytes), Self.answer("403 Forbidden", [7])])
    defer { server.stop() }
    let client = HTTPClient()
    let received = Mutex<[UInt8]>([])
    func get() throws -> HTTPClientAnswer {
      try client.download(HTTPClientRequest(url: server.url)) { piece in
        received.withLock { $0 += piece }
        return true
      }
    }
    #expect(try get().body.isEmpty)
    #expect(received.withLock { $0 } == bytes)
    let refused = try get()
    #expect(refused.head.status == 403 && refused.body == [7])
    #expect(received.withLock { $0 }.count == bytes.count)
  }

  @Test("a refusal without an end is given up")
  func endless() throws {
    let head = [UInt8]("HTTP/1.1 500 No\r\n\r\n".utf8)
    let server = try HostileServer([.endless(head, [UInt8](repeating: 1, count: 65_536))])
    defer { server.stop() }
    let client = HTTPClient(HTTPClientLimits(totalTimeout: nil, bodyLimit: .max))
    #expect(throws: HTTPClientError.self) {
      try client.download(HTTPClientRequest(url: server.url)) { _ in true }
    }
  }

  @Test("a receiver that takes no more ends the request, and so does an answer that is cut off")
  func ended() throws {
    let cut = HostileServer.Answer.bytes([UInt8]("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab".utf8))
    let server = try HostileServer([Self.answer("200 OK", [1, 2, 3]), cut])
    defer { server.stop() }
    for accepts in [false, true] {
      #expect(throws: HTTPClientError.self) {
        try HTTPClient().download(HTTPClientRequest(url: server.url)) { _ in accepts }
      }
    }
  }

  @Test("a server that takes or sends nothing is given up", arguments: [true, false])
  func silence(isUpload: Bool) throws {
    let head = isUpload ? "" : "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"
    let server = try HostileServer([.silent([UInt8](head.utf8))])
    defer { server.stop() }
    let client = HTTPClient(HTTPClientLimits(idleTimeout: .seconds(1), totalTimeout: nil))
    #expect(throws: HTTPClientError.self) {
      if isUpload {
        _ = try put([1], client, server)
      } else {
        _ = try client.download(HTTPClientRequest(url: server.url)) { _ in true }
      }
    }
  }

  @Test("a large request has longer until its answer, as it may still be on its way (I2)")
  func slowUpload() throws {
    let answer = [UInt8]("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    let server = try HostileServer(
      [.late(answer, requests: 4)] + Array(repeating: HostileServer.Answer.silent([]), count: 3))
    defer { server.stop() }
    let client = HTTPClient(HTTPClientLimits(idleTimeout: .seconds(1), totalTimeout: nil))
    let url = server.url
    let status = Mutex<Int?>(nil)
    let end = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let body = [UInt8](repeating: 1, count: 1 << 20)
      let answer = try? client.sendAndWait(HTTPClientRequest(method: "POST", url: url, body: body))
      status.withLock { $0 = answer?.head.status }
      end.signal()
    }
    server.wait(for: 1)
    // Each of these takes as long as a small request may.
    for _ in 0..<3 {
      #expect(throws: HTTPClientError.self) { try client.sendAndWait(HTTPClientRequest(url: url)) }
    }
    end.wait()
    #expect(status.withLock { $0 } == 200)
  }

  @Test("a server that goes on and on, but slower than the lowest speed, is given up")
  func slow() throws {
    let head = [UInt8]("HTTP/1.1 200 OK\r\n\r\n".utf8)
    let server = try HostileServer([.endless(head, [1])])
    defer { server.stop() }
    // Nothing is as fast.
    let client = HTTPClient(
      HTTPClientLimits(idleTimeout: .seconds(1), lowestSpeed: .max, totalTimeout: nil, bodyLimit: .max))
    #expect(throws: HTTPClientError.self) {
      try client.download(HTTPClientRequest(url: server.url)) { _ in true }
    }
  }

  @Test("a head of a 200 that is not accepted brings no content, and other answers are not asked about")
  func notAccepted() throws {
    let server = try HostileServer([Self.answer("200 OK", [1]), Self.answer("403 Forbidden", [7])])
    defer { server.stop() }
    let received = Mutex(0)
    func get() throws -> HTTPClientAnswer {
      try HTTPClient().download(
        HTTPClientRequest(url: server.url), accept: { _ in false },
        to: { piece in
          received.withLock { $0 += piece.count }
          return true
        })
    }
    #expect(throws: HTTPClientError.self, performing: get)
    #expect(try get().body == [7])
    #expect(received.withLock { $0 } == 0)
  }

  @Test("a signed request has its signature and its fields, and never the secret")
  func signed() throws {
    let server = try HostileServer([Self.answer("200 OK", [])])
    defer { server.stop() }
    var request = HTTPClientRequest(
      url: server.url + "/backups/a%20b", headers: [("x-amz-security-token", "t")])
    request.signer = HTTPClientSigner(region: "eu-west-1", key: "KEY:1", secret: "the:secret")
    _ = try HTTPClient().sendAndWait(request)
    let head = String(decoding: try #require(server.received.first), as: UTF8.self)
    #expect(head.contains("Authorization: AWS4-HMAC-SHA256 Credential=KEY:1/"))
    #expect(head.contains("/eu-west-1/s3/aws4_request"))
    #expect(head.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"))
    #expect(head.contains("x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n"))
    #expect(!head.contains("the:secret"))
  }
}
