import Foundation
import Testing

@testable import HoldfastHTTP

/// Content codings, both ways.
@Suite struct CodingTests {
  private static let text = Array(String(repeating: "a line of some text that repeats\n", count: 200).utf8)

  /// Answers with what it was sent, and a tag.
  private func echo(_ limits: HTTPLimits = HTTPLimits()) throws -> HTTPServer {
    try HTTPServer(limits: limits) { request, responder in
      if request.headers["If-None-Match"] == "\"5\"" {
        return _ = responder.respond(HTTPResponse(status: 304, headers: [("ETag", "\"5\"")]))
      }
      responder.respond(
        HTTPResponse(
          status: 200, headers: [("Content-Type", "application/json"), ("ETag", "\"5\"")], body: request.body)
      )
    }
  }

  private func send(_ server: HTTPServer, _ headers: [String], _ body: [UInt8], method: String = "POST")
    throws -> RawClient.Response
  {
    let client = try RawClient(port: server.port)
    let fields = headers.map { $0 + "\r\n" }.joined()
    client.send(
      Array("\(method) / HTTP/1.1\r\nHost: h\r\n\(fields)Content-Length: \(body.count)\r\n\r\n".utf8) + body)
    return try client.readResponse()
  }

  @Test("a coded content reaches the handler plain", arguments: ContentCoding.allCases)
  func request(coding: ContentCoding) throws {
    let coded = try #require(coding.encode(Self.text))
    #expect(coded.count < Self.text.count / 4)
    let server = try echo()
    let response = try send(server, ["Content-Encoding: \(coding.rawValue)"], coded)
    #expect(response.body == Self.text)
    #expect(response.header("Content-Encoding") == nil)
    // Two members, one behind the other.
    #expect(
      try send(server, ["Content-Encoding: \(coding.rawValue)"], coded + coded).body == Self.text + Self.text)
  }

  @Test(
    "a content that is cut, no coding, or grows beyond the limit is refused",
    arguments: ContentCoding.allCases)
  func malformed(coding: ContentCoding) throws {
    var limits = HTTPLimits()
    limits.maximumBodyBytes = 100_000
    let server = try echo(limits)
    let field = ["Content-Encoding: \(coding.rawValue)"]
    let coded = try #require(coding.encode(Self.text))
    for count in stride(from: 1, to: coded.count, by: 7) {
      #expect(try send(server, field, Array(coded.prefix(count))).status == 400)
    }
    #expect(try send(server, field, Self.text).status == 400)
    let bomb = try #require(coding.encode([UInt8](repeating: 0, count: 50_000_000)))
    try #require(bomb.count < 100_000)
    #expect(try send(server, field, bomb).status == 413)
    let whole = try #require(coding.encode([UInt8](repeating: 0, count: 100_000)))
    #expect(try send(server, field, whole).body.count == 100_000)
    #expect(try send(server, ["Content-Encoding: br"], coded).status == 415)
    #expect(try send(server, ["Content-Encoding: gzip, zstd"], coded).status == 415)
    #expect(try send(server, ["Content-Encoding: identity"], Self.text).body == Self.text)
  }

  @Test("an answer is coded as the client wants it most, and has a tag of its own")
  func answer() throws {
    let server = try echo()
    for (accept, coding) in [
      ("gzip", ContentCoding.gzip), ("gzip, zstd", .zstd), ("zstd;q=0.5, gzip", .gzip), ("*", .zstd),
      ("x, GZIP ; q=0.1", .gzip),
    ] {
      let response = try send(server, ["Accept-Encoding: \(accept)"], Self.text)
      #expect(response.header("Content-Encoding") == coding.rawValue)
      #expect(response.header("ETag") == "\"5-\(coding.rawValue)\"")
      #expect(response.header("Vary") == "Accept-Encoding")
      #expect(try coding.decode(response.body, limit: 1 << 20) == Self.text)
    }
    for accept in ["identity", "gzip;q=0", "br", "*;q=0", "gzip;q=x"] {
      let response = try send(server, ["Accept-Encoding: \(accept)"], Self.text)
      #expect(response.body == Self.text)
      #expect(response.header("ETag") == "\"5\"")
      #expect(response.header("Vary") == "Accept-Encoding")
    }
    // What is small is sent as it is.
    #expect(try send(server, ["Accept-Encoding: gzip"], Array("small".utf8)).body == Array("small".utf8))
  }

  @Test("a large answer is compressed beside the HTTP threads, also one that is a file")
  func large() throws {
    let text = Array(repeatElement(Self.text, count: 40).joined())
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: path) }
    try Data(text).write(to: path)
    let file = try #require(HTTPFile(path: path.path))
    let server = try HTTPServer(threads: 1) { request, responder in
      var response = HTTPResponse(status: 200, headers: [("Content-Type", "text/css"), ("ETag", "\"5\"")])
      if request.target == "/file" {
        response.file = HTTPFile.Slice(file, 0..<file.size)
      } else {
        response.body = text
      }
      responder.respond(response)
    }
    for (target, coding) in zip(["/", "/file", "/"], [ContentCoding.gzip, .gzip, .zstd]) {
      let client = try RawClient(port: server.port)
      // The second waits on the same connection.
      client.send(
        String(
          repeating: "GET \(target) HTTP/1.1\r\nHost: h\r\nAccept-Encoding: \(coding.rawValue)\r\n\r\n",
          count: 2))
      for _ in 0..<2 {
        let response = try client.readResponse()
        #expect(response.header("Content-Encoding") == coding.rawValue)
        #expect(response.header("ETag") == "\"5-\(coding.rawValue)\"")
        #expect(try coding.decode(response.body, limit: 1 << 20) == text)
      }
      client.send("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try client.readResponse().body == text)
    }
  }

  @Test("nothing is compressed for HEAD, and no length is said that GET would not have")
  func head() throws {
    let server = try HTTPServer { request, responder in
      let count = request.target == "/large" ? 100 : 1
      responder.respond(
        HTTPResponse(
          status: 200, headers: [("Content-Type", "text/plain"), ("ETag", "\"5\"")],
          body: Array(repeatElement(Self.text, count: count).joined())))
    }
    let client = try RawClient(port: server.port)
    for target in ["/", "/large"] {
      client.send("HEAD \(target) HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n")
      let response = try client.readResponse(isHead: true)
      #expect(response.header("Content-Encoding") == nil)
      #expect(response.header("Content-Length") == nil)
      #expect(response.header("Vary") == "Accept-Encoding")
      client.send("HEAD \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
      let plain = try client.readResponse(isHead: true)
      #expect(plain.header("Content-Length") == "\(Self.text.count * (target == "/" ? 1 : 100))")
    }
  }

  @Test("a tag of a coded form is recognized, and named again in the 304")
  func notModified() throws {
    let server = try echo()
    for tag in ["\"5\"", "\"5-gzip\"", "\"5-zstd\""] {
      let response = try send(server, ["If-None-Match: \(tag)", "Accept-Encoding: gzip"], Self.text)
      #expect(response.status == 304)
      #expect(response.header("ETag") == tag)
    }
    #expect(try send(server, ["If-None-Match: \"6-gzip\""], Self.text).status == 200)
  }
}
