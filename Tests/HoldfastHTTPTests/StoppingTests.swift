import HoldfastConcurrency
import Glibc

@testable import HoldfastHTTP
import Testing

@Suite struct StoppingTests {
  /// Stops the server on another thread; the mailbox gets a value when it is done.
  private func stop(_ server: HTTPServer, grace: Duration) -> Mailbox<Bool> {
    let done = Mailbox<Bool>()
    SystemThread.detach {
      server.stop(grace: grace)
      done.put(true)
    }
    return done
  }

  @Test("a request that waits for its answer when the server stops gets it, with the end of the connection")
  func finishes() throws {
    // A loopback address of its own: no other process listens on the port that the server gives back.
    let address = "127.\(Int.random(in: 1...254)).\(Int.random(in: 1...254)).1"
    let responders = Mailbox<HTTPResponder>()
    let server = try HTTPServer(on: HTTPListener(address: address)) { _, responder in
      responders.put(responder)
    }
    let idle = try RawClient(port: server.port, address: address)
    let client = try RawClient(port: server.port, address: address)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    let responder = try #require(responders.take())
    let done = stop(server, grace: .seconds(30))
    #expect(idle.readToEnd().isEmpty)
    #expect(throws: RawClient.Failure.self) { try RawClient(port: server.port, address: address) }
    responder.respond(.text("finished"))
    let response = try client.readResponse()
    #expect(response.text == "finished")
    #expect(response.header("Connection")?.lowercased() == "close")
    #expect(client.readToEnd().isEmpty)
    #expect(done.take() == true)
  }

  @Test("a request whose content is still coming when the server stops is finished")
  func finishesReading() throws {
    let server = try HTTPServer { request, responder in
      responder.respond(HTTPResponse(status: 200, body: request.body))
    }
    let idle = try RawClient(port: server.port)
    let client = try RawClient(port: server.port)
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    #expect(try client.readResponse().status == 100)
    client.send("ab")
    let done = stop(server, grace: .seconds(30))
    #expect(idle.readToEnd().isEmpty)
    client.send("cd")
    #expect(try client.readResponse().text == "abcd")
    #expect(done.take() == true)
  }

  @Test(
    "what the application never answers is answered 503 when the grace is over, and a later answer is refused"
  )
  func expires() throws {
    let responders = Mailbox<HTTPResponder>()
    let server = try HTTPServer(failure: { .text("own \($0.status)", status: $0.status) }) { _, responder in
      responders.put(responder)
    }
    let clients = try (0..<10).map { _ in try RawClient(port: server.port) }
    for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
    let held = clients.compactMap { _ in responders.take() }
    server.stop(grace: .zero)
    for client in clients {
      #expect(try client.readResponse().text == "own 503")
      #expect(client.readToEnd().isEmpty)
    }
    #expect(held.count == 10)
    for responder in held { #expect(!responder.respond(.text("too late"))) }
  }

  @Test("a write that waits when the grace is over is cut: it may still be done, and a 503 denies that (I1)")
  func unfinishedWrite() throws {
    let responders = Mailbox<HTTPResponder>()
    let server = try HTTPServer { _, responder in responders.put(responder) }
    let client = try RawClient(port: server.port)
    client.send("DELETE / HTTP/1.1\r\nHost: h\r\n\r\n")
    let responder = try #require(responders.take())
    server.stop(grace: .zero)
    #expect(client.readToEnd().isEmpty)
    #expect(!responder.respond(.text("too late")))
  }

  @Test("a request that never gets complete does not hold up the stop")
  func incomplete() throws {
    let server = try HTTPServer { _, responder in responder.respond(.text("ok")) }
    let client = try RawClient(port: server.port)
    client.send("PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    #expect(try client.readResponse().status == 100)
    server.stop(grace: .zero)
    #expect(client.readToEnd().isEmpty)
  }

  @Test("a handler that blocks its thread does not hold up the stop")
  func blocked() throws {
    let entered = Mailbox<Bool>()
    let release = Mailbox<Bool>()
    let log = Mailbox<String>()
    let server = try HTTPServer(log: { log.put($0) }) { _, responder in
      entered.put(true)
      _ = release.take()
      responder.respond(.text("late"))
    }
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(entered.take() == true)
    server.stop(grace: .zero)
    #expect(log.take()?.contains("blocks") == true)
    release.put(true)
    _ = client.readToEnd()
  }

  @Test("the port is free again after the stop, and taken before it")
  func port() throws {
    let first = try HTTPServer { _, responder in responder.respond(.text("1")) }
    #expect(throws: HTTPServerError.self) {
      try HTTPServer(on: HTTPListener(port: first.port)) { _, _ in }
    }
    first.stop(grace: .zero)
    first.stop(grace: .zero)
    let second = try HTTPServer(on: HTTPListener(port: first.port)) { _, responder in
      responder.respond(.text("2"))
    }
    let client = try RawClient(port: second.port)
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().text == "2")
  }

  @Test("a name is no address", arguments: ["localhost", "", "127.0.0.1:80", "::g"])
  func address(text: String) {
    let error = #expect(throws: HTTPServerError.self) { try HTTPListener(address: text) }
    #expect(error?.code == .invalidAddress)
  }

  @Test("servers that are stopped in the middle of traffic lose no answer they owe and leave nothing behind")
  func underLoad() throws {
    for round in 0..<20 {
      let server = try HTTPServer(threads: 2) { _, responder in
        if round % 2 == 0 {
          responder.respond(.text("ok"))
        } else {
          SystemThread.detach { responder.respond { .text("ok") } }
        }
      }
      let clients = try (0..<8).map { _ in try RawClient(port: server.port) }
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
      for client in clients { #expect(try client.readResponse().text == "ok") }
      for client in clients { client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
      server.stop(grace: .seconds(30))
      for client in clients {
        let rest = String(decoding: client.readToEnd(), as: UTF8.self)
        #expect(rest.isEmpty || rest.hasSuffix("ok"))
      }
    }
  }
}
