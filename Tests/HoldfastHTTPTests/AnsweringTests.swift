import HoldfastHTTP
import Testing

@Suite struct AnsweringTests {
  @Test("an answer given inside the handler is sent, and the connection serves the next request")
  func inline() throws {
    let server = try HTTPServer { request, responder in responder.respond(.text("\(request.path)")) }
    let client = try RawClient(port: server.port)
    for path in ["/one", "/two", "/three"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == 200)
      #expect(response.text == path)
      #expect(response.header("Content-Type") == "text/plain")
    }
  }

  @Test("requests sent without waiting for the answers are answered in order, waiting ones too")
  func pipelined() throws {
    let mailbox = Mailbox<HTTPResponder>()
    let server = try HTTPServer { request, responder in
      if request.path == "/wait" { mailbox.put(responder) } else { responder.respond(.text("now")) }
    }
    let client = try RawClient(port: server.port)
    client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\nGET /now HTTP/1.1\r\nHost: h\r\n\r\n")
    mailbox.take()?.respond(.text("waited"))
    #expect(try client.readResponse().text == "waited")
    #expect(try client.readResponse().text == "now")
  }

  @Test("an answer that comes later from another thread wakes the connection", arguments: [1, 2])
  func later(threads: Int) throws {
    let mailbox = Mailbox<HTTPResponder>()
    let server = try HTTPServer(threads: threads) { _, responder in mailbox.put(responder) }
    let clients = try (0..<20).map { _ in try RawClient(port: server.port) }
    for client in clients { client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc") }
    for number in clients.indices {
      let responder = try #require(mailbox.take())
      #expect(number % 2 == 0 ? responder.respond(.text("late")) : responder.respond { .text("late") })
    }
    for client in clients { #expect(try client.readResponse().text == "late") }
  }

  @Test("the first answer counts, further ones are refused")
  func once() throws {
    let server = try HTTPServer { _, responder in
      let first = responder.respond(.text("first"))
      let second = responder.respond(.text("second"))
      #expect(first && !second)
    }
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().text == "first")
  }

  @Test("a responder let go without an answer answers 500, at once or later, through the owner's closure")
  func letGo() throws {
    let mailbox = Mailbox<HTTPResponder>()
    let server = try HTTPServer(failure: { .text("own \($0.status)", status: $0.status) }) {
      request, responder in
      if request.path == "/later" { mailbox.put(responder) }
    }
    let client = try RawClient(port: server.port)
    for path in ["/now", "/later"] {
      client.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
      if path == "/later" { _ = mailbox.take() }
      let response = try client.readResponse()
      #expect(response.status == 500)
      #expect(response.text == "own 500")
    }
  }

  @Test("HEAD gets the length of the content and not the content")
  func head() throws {
    let server = try HTTPServer { _, responder in responder.respond(.text("12345")) }
    let client = try RawClient(port: server.port)
    client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse(isHead: true).header("Content-Length") == "5")
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().text == "12345")
  }

  @Test("204 and 304 have no content, and the connection goes on", arguments: [204, 304])
  func withoutContent(status: Int) throws {
    let server = try HTTPServer { _, responder in
      responder.respond(HTTPResponse(status: status, headers: [("ETag", "\"1\"")]))
    }
    let client = try RawClient(port: server.port)
    for _ in 0..<2 {
      client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == status)
      #expect(response.header("ETag") == "\"1\"")
    }
  }

  @Test("bodies of every size arrive whole", arguments: [0, 1, 16 << 10, (16 << 10) + 1, 5 << 20])
  func sizes(size: Int) throws {
    let server = try HTTPServer { request, responder in
      responder.respond(HTTPResponse(status: 200, body: request.body))
    }
    let client = try RawClient(port: server.port)
    let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
    client.send(body)
    #expect(try client.readResponse().body == body)
  }

  @Test("a header field that would split the answer is left out, a wrong status is 500")
  func wrongAnswers() throws {
    let log = Mailbox<String>()
    let server = try HTTPServer(log: { log.put($0) }) { request, responder in
      responder.respond(
        HTTPResponse(
          status: request.path == "/status" ? 99 : 200,
          headers: [("X-A", "a\r\nX-Evil: 1"), ("X B", "b"), ("", "c"), ("X-Good", "d")]))
    }
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let response = try client.readResponse()
    #expect(
      response.header("X-Evil") == nil && response.header("X-A") == nil && response.header("X-Good") == "d")
    #expect(log.count == 3)
    client.send("GET /status HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().status == 500)
  }

  @Test("a client that goes away while its answer is waited for hurts nobody")
  func goneWhileWaiting() throws {
    let mailbox = Mailbox<HTTPResponder>()
    let server = try HTTPServer { request, responder in
      if request.path == "/wait" { mailbox.put(responder) } else { responder.respond(.text("fine")) }
    }
    for _ in 0..<50 {
      let client = try RawClient(port: server.port)
      client.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
      let responder = try #require(mailbox.take())
      client.close()
      #expect(responder.respond(HTTPResponse(status: 200, body: Array(repeating: 7, count: 1 << 20))))
    }
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().text == "fine")
  }

  @Test("HTTP/1.0 and Connection: close end the connection after the answer")
  func closing() throws {
    let server = try HTTPServer { _, responder in responder.respond(.text("bye")) }
    for request in ["GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"] {
      let client = try RawClient(port: server.port)
      client.send(request)
      #expect(try client.readResponse().text == "bye")
      #expect(client.readToEnd().isEmpty)
    }
  }
}
