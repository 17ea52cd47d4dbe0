import HoldfastConcurrency
import Glibc
import Testing

@testable import HoldfastHTTP

@Suite struct StreamTests {
  /// A server that answers every request with a stream and hands it to the test.
  private func start(
    _ limits: HTTPLimits = HTTPLimits(), ended: Mailbox<String> = Mailbox()
  ) throws -> (HTTPServer, Mailbox<HTTPStream>) {
    let streams = Mailbox<HTTPStream>()
    let server = try HTTPServer(threads: 2, limits: limits) { request, responder in
      let target = request.target
      let headers = [("Content-Type", "text/event-stream")]
      if target == "/later" {
        SystemThread.detach {
          if let stream = responder.stream(headers: headers, onEnd: { ended.put(target) }) {
            streams.put(stream)
          }
        }
      } else if let stream = responder.stream(headers: headers, onEnd: { ended.put(target) }) {
        streams.put(stream)
      }
    }
    return (server, streams)
  }

  private func open(_ server: HTTPServer, _ target: String = "/") throws -> RawClient {
    let client = try RawClient(port: server.port)
    client.send("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n")
    return client
  }

  @Test(
    "the head comes at once, bytes when they are sent, and the end with the connection",
    arguments: ["/", "/later"])
  func sends(target: String) throws {
    let ended = Mailbox<String>()
    let (server, streams) = try start(ended: ended)
    let client = try open(server, target)
    let head = try client.readHead()
    #expect(head.status == 200)
    #expect(head.header("Content-Type") == "text/event-stream")
    #expect(head.header("Connection") == "close")
    #expect(head.header("Date")?.hasSuffix(" GMT") == true)
    #expect(head.header("Content-Length") == nil)
    let stream = try #require(streams.take())
    #expect(stream.send(Array("one\n".utf8)))
    #expect(client.read(through: "\n") == "one\n")
    #expect(stream.send(Array("two\n".utf8)))
    #expect(client.read(through: "\n") == "two\n")
    stream.finish()
    #expect(client.readToEnd().isEmpty)
    #expect(ended.take() == target)
    #expect(!stream.send([1]))
    stream.finish()
    server.stop(grace: .zero)
    #expect(ended.count == 0)
  }

  @Test("a client that goes away is noticed without anything being sent, and the end is told once")
  func clientGoes() throws {
    let ended = Mailbox<String>()
    let (server, streams) = try start(ended: ended)
    let client = try open(server, "/gone")
    _ = try client.readHead()
    let stream = try #require(streams.take())
    client.close()
    #expect(ended.take() == "/gone")
    #expect(!stream.send([1]))
    server.stop(grace: .zero)
    #expect(ended.count == 0)
  }

  @Test("an idle stream outlives every limit of time, and other requests are served beside it")
  func outlivesLimits() throws {
    var limits = HTTPLimits()
    limits.requestDeadline = .milliseconds(40)
    limits.idleTimeout = .milliseconds(40)
    limits.responseDeadline = .milliseconds(40)
    let (server, streams) = try start(limits)
    let client = try open(server)
    _ = try client.readHead()
    let stream = try #require(streams.take())
    // An idle connection that came later is closed by then, so the sweeper was there.
    for _ in 0..<3 { #expect(try RawClient(port: server.port).readToEnd().isEmpty) }
    #expect(stream.send(Array("still here\n".utf8)))
    #expect(client.read(through: "\n") == "still here\n")
    server.stop(grace: .zero)
  }

  @Test("a client that does not take its bytes is cut at the limit, and not before")
  func stalls() throws {
    let ended = Mailbox<String>()
    let (server, streams) = try start(ended: ended)
    let client = try RawClient(port: server.port, receiveBuffer: 2048)
    client.send("GET /stalled HTTP/1.1\r\nHost: h\r\n\r\n")
    let stream = try #require(streams.take())
    var sent = 0
    while stream.send([UInt8](repeating: 0x2E, count: 256)), sent < 64 << 20 { sent += 256 }
    #expect(sent >= 8 << 10, "only \(sent) bytes")
    #expect(sent <= 4 * HTTPStream.bufferSize, "\(sent) bytes")
    #expect(ended.take() == "/stalled")
    _ = client.readToEnd()
    server.stop(grace: .zero)
  }

  @Test("the stop of the server ends all streams at once, and a stream that comes later is refused")
  func stops() throws {
    let ended = Mailbox<String>()
    let (server, streams) = try start(ended: ended)
    let clients = try (0..<200).map { _ in try open(server) }
    for client in clients { _ = try client.readHead() }
    let held = clients.compactMap { _ in streams.take() }
    // The time of grace would be longer than the test may last.
    server.stop(grace: .seconds(3600))
    for client in clients { #expect(client.readToEnd().isEmpty) }
    for _ in clients { #expect(ended.take() == "/") }
    #expect(ended.count == 0)
    for stream in held { #expect(!stream.send([1])) }
  }

  @Test("a request that still waits when the server stops can not become a stream")
  func refused() throws {
    let responders = Mailbox<HTTPResponder>()
    let ended = Mailbox<Bool>()
    let server = try HTTPServer { request, responder in
      if request.target == "/idle" {
        responder.respond(.text("idle"))
      } else {
        responders.put(responder)
      }
    }
    let client = try open(server)
    let responder = try #require(responders.take())
    let idle = try open(server, "/idle")
    #expect(try idle.readResponse().status == 200)
    let done = Mailbox<Bool>()
    SystemThread.detach {
      server.stop(grace: .seconds(3600))
      done.put(true)
    }
    // A connection without a request is closed when the connections are told of the stop.
    #expect(idle.readToEnd().isEmpty)
    #expect(responder.stream(onEnd: { ended.put(true) }) == nil)
    #expect(try client.readResponse().status == 503)
    #expect(done.take() == true)
    #expect(ended.count == 0)
  }

  @Test("an answer takes the place of no stream, and a stream of no answer")
  func onlyOne() throws {
    let streams = Mailbox<HTTPStream>()
    let server = try HTTPServer { request, responder in
      if request.target == "/answer" {
        #expect(responder.respond(.text("answer")))
        #expect(responder.stream(onEnd: {}) == nil)
      } else {
        if let stream = responder.stream(onEnd: {}) { streams.put(stream) }
        #expect(!responder.respond(.text("answer")))
      }
    }
    let client = try open(server, "/answer")
    #expect(try client.readResponse().text == "answer")
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    _ = try client.readHead()
    try #require(streams.take()).finish()
    #expect(client.readToEnd().isEmpty)
    server.stop(grace: .zero)
  }

  @Test("streams that begin, send and end on many threads while clients come and go leave nothing behind")
  func underLoad() throws {
    let ended = Mailbox<String>()
    let (server, streams) = try start(ended: ended)
    for round in 0..<20 {
      let clients = try (0..<20).map { try open(server, $0 % 2 == 0 ? "/" : "/later") }
      let held = clients.compactMap { _ in streams.take() }
      for (number, stream) in held.enumerated() {
        SystemThread.detach {
          while stream.send(Array("event\n".utf8)) { if number % 3 == 0 { stream.finish() } }
        }
      }
      for (number, client) in clients.enumerated() where (number + round) % 2 == 0 { client.close() }
      for client in clients { client.close() }
      for _ in clients { #expect(ended.take() != nil) }
    }
    server.stop(grace: .zero)
    #expect(ended.count == 0)
  }
}
