import HoldfastCore
import HostileServer
import Testing

@testable import HoldfastCurl

/// Whatever a server sends, a request ends with an answer or an error, and the process goes on.
@Suite("Hostile answers") struct HostileAnswerTests {
  private static let whole =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"1\"\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"a\":\"b\",\"c\"}"

  private func answer(
    _ answer: HostileServer.Answer, limits: HTTPClientLimits = HTTPClientLimits()
  ) async throws -> Result<HTTPClientAnswer, HTTPClientError> {
    let server = try HostileServer([answer, answer, answer])
    defer { server.stop() }
    let client = HTTPClient(limits)
    do throws(HTTPClientError) {
      return .success(try await client.send(HTTPClientRequest(url: server.url)))
    } catch {
      return .failure(error)
    }
  }

  @Test("an answer that is cut at any byte is an error, and only a whole one is an answer (I3)")
  func cutAnywhere() async throws {
    let bytes = [UInt8](Self.whole.utf8)
    let server = try HostileServer((0...bytes.count).map { .bytes([UInt8](bytes[..<$0])) })
    defer { server.stop() }
    for count in 0...bytes.count {
      let client = HTTPClient()
      let answer = try? await client.send(
        HTTPClientRequest(method: "POST", url: server.url, body: [UInt8]("{}".utf8)))
      #expect((answer?.body.count == 13) == (count == bytes.count), "cut at \(count)")
    }
    #expect(server.received.allSatisfy { $0.suffix(2) == [0x7b, 0x7d] })
  }

  @Test("a chunked answer that is cut at any byte is an error")
  func cutChunks() async throws {
    let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    let bytes = [UInt8](text.utf8)
    let server = try HostileServer((0...bytes.count).map { .bytes([UInt8](bytes[..<$0])) })
    defer { server.stop() }
    for count in 0...bytes.count {
      let answer = try? await HTTPClient().send(HTTPClientRequest(url: server.url))
      // The end of the last chunk's line and of the trailers may be missing.
      if count < bytes.count - 4 { #expect(answer == nil, "cut at \(count)") }
      if count == bytes.count { #expect(answer?.body == [UInt8]("abcde".utf8)) }
    }
  }

  @Test(
    "what is no answer is an error",
    arguments: [
      "", "\r\n\r\n", "HELLO\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 99999 X\r\n\r\n",
      "HTTP/1.1 -1 X\r\n\r\n",
      "HTTP/9.9 200 OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "{\"a\": 1}",
      "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde",
      "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nabc",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc\r\n",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    ])
  func noAnswer(_ text: String) async throws {
    let result = try await answer(.bytes([UInt8](text.utf8)))
    #expect(throws: HTTPClientError.self) { try result.get() }
  }

  @Test(
    "a length that is no number is a failure, and one that is too large says so",
    arguments: [
      ("abc", HTTPClientError.Code.failed), ("", .failed), ("99999999999999999999999", .tooLarge),
    ])
  func lengths(_ length: String, _ code: HTTPClientError.Code) async throws {
    let text = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabc"
    let result = try await answer(.bytes([UInt8](text.utf8)))
    #expect(throws: HTTPClientError.self) { try result.get() }
    guard case .failure(let error) = result else { return }
    #expect(error.code == code)
  }

  @Test("an answer without an end is broken off at the limit of its part")
  func endless() async throws {
    let limits = HTTPClientLimits(bodyLimit: 1 << 20)
    let head = [UInt8]("HTTP/1.1 200 OK\r\n".utf8)
    let cases: [HostileServer.Answer] = [
      .endless(head, [UInt8]("X-Y: \(String(repeating: "z", count: 1000))\r\n".utf8)),
      .endless([], [UInt8]("HTTP/1.1 100 Continue\r\n\r\n".utf8)),
      .endless(head + [UInt8]("\r\n".utf8), [UInt8](repeating: 0x78, count: 10_000)),
      .endless(
        head + [UInt8]("Transfer-Encoding: chunked\r\n\r\n".utf8),
        [UInt8]("3e8\r\n\(String(repeating: "z", count: 1000))\r\n".utf8)),
      .endless([UInt8]("HTTP/1.1 ".utf8), [UInt8](repeating: 0x78, count: 10_000)),
    ]
    for (index, endless) in cases.enumerated() {
      let result = try await answer(endless, limits: limits)
      #expect(throws: HTTPClientError.self, "case \(index)") { try result.get() }
    }
  }

  @Test("silence ends at the time-out, before the head and behind it")
  func silence() async throws {
    let limits = HTTPClientLimits(idleTimeout: nil, totalTimeout: .milliseconds(200))
    for bytes in ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"] {
      let result = try await answer(.silent([UInt8](bytes.utf8)), limits: limits)
      #expect(throws: HTTPClientError.self) { try result.get() }
    }
  }

  @Test("a redirect is an answer, and is not followed")
  func redirect() async throws {
    let other = try HostileServer([.bytes([UInt8](Self.whole.utf8))])
    defer { other.stop() }
    let text = "HTTP/1.1 307 Temporary Redirect\r\nLocation: \(other.url)\r\nContent-Length: 0\r\n\r\n"
    let result = try await answer(.bytes([UInt8](text.utf8)))
    #expect(try result.get().head.status == 307)
    #expect(other.received.isEmpty)
  }

  @Test("interim answers are passed over, fields are read by the last head")
  func interim() async throws {
    let text = "HTTP/1.1 103 Early Hints\r\nETag: \"old\"\r\n\r\n" + Self.whole
    let answer = try await answer(.bytes([UInt8](text.utf8))).get()
    #expect(answer.head.status == 200)
    #expect(answer.head.headers["etag"] == "\"1\"")
    #expect(answer.head.headers["content-type"] == "application/json")
  }

  @Test("a stream whose server sends something else, or nothing, ends with an error")
  func streams() async throws {
    struct Refused: Error {}
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    let server = try HostileServer([
      .bytes([UInt8](Self.whole.utf8)), .bytes([UInt8]("HTTP/1.1 200".utf8)),
      .bytes([UInt8]((head + "a: b\n").utf8)),
      .endless([UInt8](head.utf8), [UInt8]("x".utf8)),
    ])
    defer { server.stop() }
    let client = HTTPClient(HTTPClientLimits(idleTimeout: nil, totalTimeout: nil, bodyLimit: .max))
    func open() -> AsyncThrowingStream<[UInt8], any Error> {
      client.stream(HTTPClientRequest(url: server.url), pieceLimit: 2) {
        $0.headers["content-type"] == "text/event-stream" ? nil : Refused()
      }
    }
    await #expect(throws: Refused.self) { for try await _ in open() {} }
    await #expect(throws: HTTPClientError.self) { for try await _ in open() {} }
    var bytes: [UInt8] = []
    for try await piece in open() { bytes += piece }
    #expect(bytes == [UInt8]("a: b\n".utf8))
    let unread = open()
    // Nobody reads until the server has sent more than may wait.
    var pieces = unread.makeAsyncIterator()
    _ = try await pieces.next()
    await #expect(throws: (any Error).self) {
      while try await pieces.next() != nil { await Task.yield() }
      throw CancellationError()
    }
  }
}
