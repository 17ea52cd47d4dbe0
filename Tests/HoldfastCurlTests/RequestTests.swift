import Foundation
import HostileServer
import Testing

@testable import HoldfastCurl

/// What leaves, and what becomes of a request that nobody waits for.
@Suite("Requests over libcurl") struct RequestTests {
  private static let ok = HostileServer.Answer.bytes(
    [UInt8]("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))

  @Test("method, path, fields and content leave as they were given")
  func asGiven() async throws {
    let server = try HostileServer([Self.ok])
    defer { server.stop() }
    let body = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0) }
    _ = try await HTTPClient().send(
      HTTPClientRequest(
        method: "PATCH", url: server.url + "/v1/a%20b?c=d", headers: [("X-One", "1"), ("X-Empty", "")],
        body: body))
    let request = try #require(server.received.first)
    #expect(request.suffix(body.count) == body[...])
    let head = String(decoding: request.dropLast(body.count), as: UTF8.self)
    #expect(head.hasPrefix("PATCH /v1/a%20b?c=d HTTP/1.1\r\n"))
    #expect(head.contains("X-One: 1\r\n") && head.contains("X-Empty:"))
    #expect(!head.contains("Expect"))
  }

  @Test("a request on a kept connection that the server has closed is sent again, with its content (I1)")
  func keptConnection() async throws {
    let server = try HostileServer([Self.ok, Self.ok, Self.ok])
    defer { server.stop() }
    let client = HTTPClient()
    for number in 0..<3 {
      _ = try await client.send(
        HTTPClientRequest(method: "POST", url: server.url, body: [UInt8]("\(number)".utf8)))
    }
    #expect(server.received.map(\.last) == [0x30, 0x31, 0x32])
  }

  @Test("a header field with a line end is refused, and nothing is sent")
  func injection() async throws {
    let server = try HostileServer([Self.ok])
    defer { server.stop() }
    for request in [
      HTTPClientRequest(url: server.url, headers: [("X", "a\r\nY: b")]),
      HTTPClientRequest(method: "GET / HTTP/1.1\r\nX: y\r\n", url: server.url),
      HTTPClientRequest(url: server.url + "/\r\n"),
    ] {
      let error = await #expect(throws: HTTPClientError.self) { try await HTTPClient().send(request) }
      #expect(error?.code == .invalidRequest)
    }
    #expect(server.received.isEmpty)
  }

  @Test(
    "only http and https are spoken",
    arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "x"])
  func protocols(_ url: String) async throws {
    await #expect(throws: HTTPClientError.self) { try await HTTPClient().send(HTTPClientRequest(url: url)) }
  }

  @Test("a cancelled task ends its request, before it begins and while it waits")
  func cancellation() async throws {
    let server = try HostileServer([.silent([]), .silent([])])
    defer { server.stop() }
    let client = HTTPClient()
    let url = server.url
    let waiting = Task { try await client.send(HTTPClientRequest(url: url)) }
    server.wait(for: 1)
    waiting.cancel()
    let late = await #expect(throws: HTTPClientError.self) { try await waiting.value }
    #expect(late?.code == .cancelled)
    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await client.send(HTTPClientRequest(url: url))
    }
    let error = await #expect(throws: HTTPClientError.self) { try await early.value }
    #expect(error?.code == .cancelled)
  }

  @Test("a client that goes ends its requests; those of others go on")
  func endOfClient() async throws {
    let server = try HostileServer([.silent([])])
    defer { server.stop() }
    var client: HTTPClient? = HTTPClient()
    let stream = try #require(client).stream(HTTPClientRequest(url: server.url)) { _ in nil }
    server.wait(for: 1)
    client = nil
    let error = await #expect(throws: HTTPClientError.self) { for try await _ in stream {} }
    #expect(error?.code == .cancelled)
  }

  @Test("requests of many tasks at once are each answered with their own answer")
  func many() async throws {
    // Each connection ends with its answer, and says so: libcurl gives up a request after five kept connections that were closed.
    let last = HostileServer.Answer.bytes(
      [UInt8]("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".utf8))
    // A connection that was opened for a request may end up without one.
    let server = try HostileServer((0..<500).map { _ in last })
    defer { server.stop() }
    let client = HTTPClient()
    let url = server.url
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await client.send(HTTPClientRequest(url: url)).body.count } }
      return try await group.reduce(0, +)
    }
    #expect(count == 100)
  }
}
