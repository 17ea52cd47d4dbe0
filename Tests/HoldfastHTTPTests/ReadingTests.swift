import HoldfastHTTP
import Testing

@Suite struct ReadingTests {
  /// A server that keeps its requests.
  private func makeServer(
    _ requests: Mailbox<HTTPRequest>, requestDeadline: Duration = .seconds(30)
  ) throws -> HTTPServer {
    try HTTPServer(limits: HTTPLimits(requestDeadline: requestDeadline)) { request, responder in
      requests.put(request)
      responder.respond(.text("ok"))
    }
  }

  @Test("a request arrives as it was sent")
  func whole() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send(
      "PATCH /v1/a%20b/c?x=1&y=%2B+z&x=2 HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nx-one:  2 \r\nContent-Length: 2\r\n\r\n{}"
    )
    #expect(try client.readResponse().status == 200)
    let request = try #require(requests.take())
    #expect(request.method == "PATCH")
    #expect(request.target == "/v1/a%20b/c?x=1&y=%2B+z&x=2")
    #expect(request.path == "/v1/a%20b/c")
    #expect(request.pathParts == ["v1", "a b", "c"])
    #expect(request.queryValue("x") == "1")
    #expect(request.queryValue("y") == "+ z")
    #expect(request.queryValue("z") == nil)
    #expect(request.headers["X-ONE"] == "1, 2")
    #expect(request.headers["absent"] == nil)
    #expect(request.body == Array("{}".utf8))
    #expect(request.remoteAddress == "127.0.0.1")
  }

  @Test("IPv6 works like IPv4")
  func version6() throws {
    let server = try HTTPServer(on: HTTPListener(address: "::1")) { request, responder in
      responder.respond(.text(request.remoteAddress))
    }
    let client = try RawClient(port: server.port, address: "::1")
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().text == "::1")
  }

  @Test("a chunked body arrives whole, whatever its chunks and however it is cut up")
  func chunked() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n")
    for byte in "3\r\nabc\r\n1;ext=1\r\nd\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n".utf8 {
      client.send([byte])
    }
    #expect(try client.readResponse().status == 200)
    #expect(requests.take()?.body == Array("abcd0123456789".utf8))
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().status == 200)
  }

  @Test("Expect: 100-continue is answered before the body")
  func expectContinue() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    #expect(try client.readResponse().status == 100)
    client.send("abc")
    #expect(try client.readResponse().status == 200)
    #expect(requests.take()?.body == Array("abc".utf8))
  }

  @Test("a body that ends too early never reaches the handler")
  func truncated() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests, requestDeadline: .milliseconds(100))
    for head in ["Content-Length: 10\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\nab"] {
      let client = try RawClient(port: server.port)
      client.send("POST / HTTP/1.1\r\nHost: h\r\n" + head)
      client.finishSending()
      #expect(client.readToEnd().isEmpty)
    }
    #expect(requests.count == 0)
  }

  @Test("zero bytes and bytes that are no UTF-8 harm nobody")
  func strangeBytes() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests, requestDeadline: .milliseconds(100))
    let strange: [[UInt8]] = [
      [0xFF, 0xFE], [0], [0xC3], [0xED, 0xA0, 0x80], [0x80, 0, 0x80], Array("%".utf8), Array("%zz%00".utf8),
    ]
    for bytes in strange {
      for place in 0..<4 {
        let client = try RawClient(port: server.port)
        let parts = ["GET /", "?q=", " HTTP/1.1\r\nHost: h\r\nX-", "A: ", "\r\n\r\n"].map { Array($0.utf8) }
        var all: [UInt8] = []
        for (index, part) in parts.enumerated() { all += part + (index == place ? bytes : []) }
        client.send(all)
        client.finishSending()
        _ = client.readToEnd()
      }
    }
    while requests.count > 0, let request = requests.take() {
      _ = (request.pathParts, request.queryItems, request.headers.all)
    }
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().status == 200)
  }

  @Test("a query of thousands of parameters reaches the handler whole")
  func manyParameters() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    for count in [10, 600, 5000] {
      let query = (0..<count).map { _ in "a=" }.joined(separator: "&")
      client.send("GET /?\(query) HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try client.readResponse().status == 200)
      #expect(requests.take()?.queryItems.count == count)
    }
  }
}
