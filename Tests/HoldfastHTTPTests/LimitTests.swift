import HoldfastHTTP
import Testing

@Suite struct LimitTests {
  /// A server with a word of its own for each failure, whose requests are kept.
  private func makeServer(_ limits: HTTPLimits, requests: Mailbox<HTTPRequest> = Mailbox()) throws
    -> HTTPServer
  {
    try HTTPServer(limits: limits, failure: { .text("own \($0.status)", status: $0.status) }) {
      request, responder in
      requests.put(request)
      responder.respond(.text("ok"))
    }
  }

  @Test("a body that is announced too long is answered 413 before it comes, and the connection ends")
  func announced() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(HTTPLimits(maximumBodyBytes: 10), requests: requests)
    for extra in ["", "Expect: 100-continue\r\n"] {
      let client = try RawClient(port: server.port)
      client.send("POST / HTTP/1.1\r\nHost: h\r\n\(extra)Content-Length: 11\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == 413)
      #expect(response.text == "own 413")
      #expect(client.readToEnd().isEmpty)
    }
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789")
    #expect(try client.readResponse().status == 200)
    #expect(requests.count == 1)
  }

  @Test("who sends the whole of a body that is too long still gets to read the 413")
  func sentAnyway() throws {
    let server = try makeServer(HTTPLimits(maximumBodyBytes: 1000))
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n")
    client.send([UInt8](repeating: 1, count: 900_000))
    #expect(try client.readResponse().text == "own 413")
    #expect(client.readToEnd().isEmpty)
  }

  @Test("a chunked body that grows too long is answered 413")
  func grown() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(HTTPLimits(maximumBodyBytes: 10), requests: requests)
    let client = try RawClient(port: server.port)
    client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n3\r\n012\r\n")
    #expect(try client.readResponse().text == "own 413")
    client.send("0\r\n\r\n")
    #expect(client.readToEnd().isEmpty)
    #expect(requests.count == 0)
  }

  @Test("a header that is too long is answered 431", arguments: [1100, 3000, 100_000])
  func header(length: Int) throws {
    let server = try makeServer(HTTPLimits(maximumHeaderBytes: 1024))
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: length))\r\n\r\n")
    let response = try client.readResponse()
    #expect(response.status == 431)
    #expect(response.text == "own 431")
  }

  @Test("a header just under its limit passes, also one of many short fields")
  func fullHeader() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(HTTPLimits(maximumHeaderBytes: 4096), requests: requests)
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 4000))\r\n\r\n")
    #expect(try client.readResponse().status == 200)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n" + (0..<90).map { "X-\($0): 1\r\n" }.joined() + "\r\n")
    #expect(try client.readResponse().status == 200)
    _ = requests.take()
    #expect(requests.take()?.headers["x-89"] == "1")
  }

  @Test(
    "a connection too many is answered 503 and closed, the others go on, and a closed one makes room",
    arguments: [true, false])
  func connections(perAddress: Bool) throws {
    let server = try makeServer(
      perAddress ? HTTPLimits(maximumConnectionsPerAddress: 2) : HTTPLimits(maximumConnections: 2))
    let first = try RawClient(port: server.port)
    let second = try RawClient(port: server.port)
    for client in [first, second] {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try client.readResponse().status == 200)
    }
    let third = try RawClient(port: server.port)
    #expect(try third.readResponse().text == "own 503")
    #expect(third.readToEnd().isEmpty)
    first.send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    #expect(try first.readResponse().status == 200)
    #expect(first.readToEnd().isEmpty)
    second.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try second.readResponse().status == 200)
    // The client may see the end of the first connection a moment before the server has purged it.
    var status = 503
    while status == 503 {
      let fourth = try RawClient(port: server.port)
      fourth.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      status = (try? fourth.readResponse().status) ?? 503
    }
    #expect(status == 200)
  }

  @Test(
    "a request that comes too slowly is cut with 408, wherever it stands",
    arguments: [
      "GET / HTTP/1.1\r\nHost: h\r\nX-", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5f5e100\r\n",
    ])
  func dripping(start: String) throws {
    let requests = Mailbox<HTTPRequest>()
    var limits = HTTPLimits(
      maximumBodyBytes: 1 << 30, maximumHeaderBytes: 1 << 20, requestDeadline: .milliseconds(100))
    limits.minimumBodyRate = .max
    let server = try makeServer(limits, requests: requests)
    let client = try RawClient(port: server.port)
    client.send(start)
    var sent = 0
    while client.send("x") { sent += 1 }
    #expect(requests.count == 0)
    let silent = try RawClient(port: server.port)
    silent.send(start)
    #expect(try silent.readResponse().text == "own 408")
    #expect(silent.readToEnd().isEmpty)
  }

  @Test(
    "a body that comes as fast as is asked for has the time that it needs",
    arguments: ["Content-Length: 2000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n3e8\r\n"])
  func slow(framing: String) throws {
    let requests = Mailbox<HTTPRequest>()
    var limits = HTTPLimits(requestDeadline: .milliseconds(100))
    limits.minimumBodyRate = 1
    let server = try makeServer(limits, requests: requests)
    let client = try RawClient(port: server.port)
    let piece = String(repeating: "x", count: 1000)
    client.send("POST / HTTP/1.1\r\nHost: h\r\n\(framing)\(piece)")
    // Another that began later has had its time.
    for _ in 0..<3 {
      let silent = try RawClient(port: server.port)
      silent.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n")
      #expect(try silent.readResponse().text == "own 408")
    }
    client.send(framing.hasPrefix("Content") ? piece : "\r\n3e8\r\n\(piece)\r\n0\r\n\r\n")
    #expect(try client.readResponse().status == 200)
    #expect(requests.count == 1)
  }

  @Test("a connection that never gets to a request line is cut, silent or dripping")
  func noRequestLine() throws {
    let server = try makeServer(HTTPLimits(requestDeadline: .milliseconds(50)))
    let silent = try RawClient(port: server.port)
    #expect(silent.readToEnd().isEmpty)
    let dripping = try RawClient(port: server.port)
    var sent = 0
    while sent < 15_000, dripping.send("G") { sent += 1 }
    _ = dripping.readToEnd()
  }

  @Test("an idle connection is closed after its answer")
  func idle() throws {
    let server = try makeServer(HTTPLimits(idleTimeout: .milliseconds(50)))
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().status == 200)
    #expect(client.readToEnd().isEmpty)
  }

  @Test("a request that waits for its answer is not cut by any deadline of the client's")
  func waiting() throws {
    let responders = Mailbox<HTTPResponder>()
    let limits = HTTPLimits(requestDeadline: .milliseconds(20), idleTimeout: .milliseconds(20))
    let server = try HTTPServer(limits: limits) { _, responder in responders.put(responder) }
    let waiting = try RawClient(port: server.port)
    waiting.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let responder = try #require(responders.take())
    // Whole lives of other connections go by.
    for _ in 0..<3 {
      let other = try RawClient(port: server.port)
      #expect(other.readToEnd().isEmpty)
    }
    responder.respond(.text("at last"))
    #expect(try waiting.readResponse().text == "at last")
  }

  @Test("a client that does not read its answer is cut")
  func notReading() throws {
    let limits = HTTPLimits(responseDeadline: .milliseconds(100))
    let server = try HTTPServer(limits: limits) { _, responder in
      responder.respond(HTTPResponse(status: 200, body: Array(repeating: 1, count: 64 << 20)))
    }
    let client = try RawClient(port: server.port, receiveBuffer: 4096)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    // The socket takes further bytes until the server has cut it: no reading, no sleeping.
    while client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") {}
    #expect(client.readToEnd().count < 64 << 20)
  }

  @Test(
    "contents for which there is no room are answered 503, small ones pass, and an answer makes room again")
  func room() throws {
    let responders = Mailbox<HTTPResponder>()
    let limits = HTTPLimits(maximumBodyBytes: 200_000, maximumBufferedBytes: 200_000)
    let server = try HTTPServer(limits: limits, failure: { .text("own \($0.status)", status: $0.status) }) {
      _, responder in
      responders.put(responder)
    }
    func request(_ count: Int) -> String {
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(count)\r\n\r\n" + String(repeating: "x", count: count)
    }
    let post = request(200_000)
    let first = try RawClient(port: server.port)
    first.send(post)
    let responder = try #require(responders.take())
    let second = try RawClient(port: server.port)
    second.send(post)
    #expect(try second.readResponse().text == "own 503")
    #expect(second.readToEnd().isEmpty)
    let small = try RawClient(port: server.port)
    small.send(request(60000))
    try #require(responders.take()).respond(.text("small"))
    #expect(try small.readResponse().text == "small")
    responder.respond(.text("ok"))
    #expect(try first.readResponse().text == "ok")
    // The answer to a request on the same connection comes after the room was given back.
    first.send(post)
    try #require(responders.take()).respond(.text("again"))
    #expect(try first.readResponse().text == "again")
  }
}
