import HoldfastConcurrency
import Glibc
import Testing

@testable import HoldfastHTTP

/// What clients may do to a server that has others to serve.
@Suite("A hostile client") struct HostileTests {
  private func makeServer(_ limits: HTTPLimits = HTTPLimits(), body: Int = 2) throws -> HTTPServer {
    try HTTPServer(threads: 2, limits: limits, failure: { .text("own \($0.status)", status: $0.status) }) {
      request, responder in
      responder.respond(
        request.target == "/large"
          ? HTTPResponse(status: 200, body: [UInt8](repeating: 7, count: body)) : .text("ok"))
    }
  }

  /// Whether somebody else is answered.
  private func isServing(_ server: HTTPServer) throws -> Bool {
    let client = try RawClient(port: server.port)
    client.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
    return try client.readResponse().status == 200
  }

  private static let requests = [
    "GET /a?b=c HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabcde",
    "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n",
    "OPTIONS http://h:80 HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\na",
  ]

  @Test("that cuts its request at any byte gets no answer to a part, and harms nobody")
  func cut() throws {
    let server = try makeServer()
    for request in Self.requests {
      for count in 0..<request.utf8.count {
        let client = try RawClient(port: server.port)
        client.send(request.utf8.prefix(count))
        client.finishSending()
        let answer = String(decoding: client.readToEnd(), as: UTF8.self)
        #expect(answer.isEmpty || answer == "HTTP/1.1 100 Continue\r\n\r\n", "\(count) bytes of \(request)")
      }
      // And without a word of its end.
      for count in 0..<request.utf8.count {
        try RawClient(port: server.port).send(request.utf8.prefix(count))
      }
    }
    #expect(try isServing(server))
  }

  @Test("that changes any byte of its request is answered or closed: no request is made of a part of another")
  func changed() throws {
    let targets = Mailbox<String>()
    let server = try HTTPServer { request, responder in
      targets.put(request.target)
      responder.respond(.text("ok"))
    }
    for request in Self.requests {
      for place in request.utf8.indices {
        let number = request.utf8.distance(from: request.utf8.startIndex, to: place)
        for byte: UInt8 in [0, 0x0A, 0x0D, 0x20, 0x2C, 0x3A, 0x30, 0x7F, 0x80, 0xFF] {
          var bytes = Array(request.utf8)
          bytes[number] = byte
          let client = try RawClient(port: server.port)
          client.send(bytes)
          client.finishSending()
          let answer = String(decoding: client.readToEnd(), as: UTF8.self)
          #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 "))
        }
      }
    }
    while targets.count > 0, let target = targets.take() {
      #expect(target.hasPrefix("/") || target == "*")
    }
    #expect(try isServing(server))
  }

  @Test("that drips on many connections keeps nobody else from being answered")
  func dripping() throws {
    let server = try makeServer()
    let clients = try (0..<300).map { _ in try RawClient(port: server.port) }
    for byte in Self.requests[2].utf8.dropLast() {
      for client in clients { client.send([byte]) }
      #expect(try isServing(server))
    }
  }

  @Test(
    "that reads none of its answers holds no more of the memory than its share, and others get theirs (availability)"
  )
  func unread() throws {
    var limits = HTTPLimits()
    limits.maximumAnswerBytes = 20 << 20
    limits.maximumAnswerBytesPerPayer = 10 << 20
    let server = try makeServer(limits, body: 8 << 20)
    let greedy = try (0..<20).map { _ in try RawClient(port: server.port, receiveBuffer: 4096) }
    for client in greedy { client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n") }
    var statuses: [Int: Int] = [:]
    for client in greedy { statuses[try client.readHead().status, default: 0] += 1 }
    #expect(statuses == [200: 1, 503: 19])
    #expect(try isServing(server))
    for client in greedy { client.close() }
    // The room is given back when the server has seen the end.
    var status = 503
    while status == 503 {
      let client = try RawClient(port: server.port)
      client.send("GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try client.readResponse()
      status = response.status
      if status == 200 { #expect(response.body.count == 8 << 20) }
    }
    #expect(status == 200)
  }

  @Test(
    "is cut, and gets no 503, where there is no room for the answer to what has been done (I1)",
    arguments: [true, false])
  func done(isDone: Bool) throws {
    var limits = HTTPLimits()
    limits.maximumAnswerBytes = 10 << 20
    let reports = Mailbox<Int>()
    let server = try HTTPServer(threads: 1, limits: limits, failure: { .text("own", status: $0.status) }) {
      _, responder in
      var response = HTTPResponse(status: 201, body: [UInt8](repeating: 7, count: 8 << 20))
      response.hasTakenEffect = isDone
      response.report = { reports.put($0?.status ?? 0) }
      responder.respond(response)
    }
    let first = try RawClient(port: server.port, receiveBuffer: 4096)
    let second = try RawClient(port: server.port, receiveBuffer: 4096)
    for (client, status) in [(first, 201), (second, isDone ? nil : 503)] {
      client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1")
      if let status {
        #expect(try client.readHead().status == status)
      } else {
        #expect(client.readToEnd().isEmpty)
      }
      // What the owner is told was sent is what was sent.
      #expect(reports.take() == status ?? 0)
    }
  }

  @Test("that has its large contents coded waits for turns behind others, and has a part of the queue")
  func coding() throws {
    let coder = Coder(threads: 2)
    try #require(coder.start())
    let (started, release, served) = (Mailbox<Bool>(), Mailbox<Bool>(), Mailbox<String>())
    let long: Coder.Work = {
      started.put(true)
      _ = release.take()
    }
    let (own, other): (Coder.Work, Coder.Work) = ({ served.put("greedy") }, { served.put("other") })
    #expect(coder.enqueue(long, of: "greedy"))
    #expect(started.take() == true)
    var count = 0
    while coder.enqueue(own, of: "greedy") { count += 1 }
    #expect(count == Coder.queueLimit / 4)
    // It is served while the other has much to do.
    #expect(coder.enqueue(other, of: "other"))
    #expect(served.take() == "other")
    release.put(true)
    for _ in 0..<count { #expect(served.take() == "greedy") }
    coder.stop()
    #expect(!coder.enqueue(other, of: "other"))
  }

  @Test("that asks for large answers, compressed, keeps no HTTP thread from others (availability)")
  func compression() throws {
    let text = [UInt8](repeating: 7, count: 1 << 20)
    let server = try HTTPServer(threads: 1) { request, responder in
      responder.respond(
        request.target == "/large"
          ? HTTPResponse(status: 200, headers: [("Content-Type", "text/plain")], body: text) : .text("ok"))
    }
    // All threads that compress are busy.
    let (started, release) = (Mailbox<Bool>(), Mailbox<Bool>())
    let long: Coder.Work = {
      started.put(true)
      _ = release.take()
    }
    for payer in ["a", "b"] { #expect(server.core.coder.enqueue(long, of: payer)) }
    for _ in 0..<2 { #expect(started.take() == true) }
    let greedy = try (0..<20).map { _ in try RawClient(port: server.port) }
    let request = "GET /large HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n"
    for client in greedy { client.send(request) }
    #expect(try isServing(server))
    // They wait, and nothing of them is answered before.
    #expect(server.waitingCodings > 0)
    for _ in 0..<2 { release.put(true) }
    for client in greedy {
      let response = try client.readResponse()
      #expect(response.header("Content-Encoding") == "gzip")
      #expect(try ContentCoding.gzip.decode(response.body, limit: text.count) == text)
    }
  }

  @Test("that has all addresses of a /64 network has one share (availability)")
  func network() {
    #expect(IPAddress.network(of: "2001:db8::1:2:3:4") == IPAddress.network(of: "2001:db8::9"))
    #expect(IPAddress.network(of: "2001:db8::1") != IPAddress.network(of: "2001:db8:0:1::1"))
    #expect(IPAddress.network(of: "192.0.2.7") == "192.0.2.7")
    #expect(IPAddress.network(of: "no address") == "no address")
  }

  @Test("that takes its share of the answers leaves others theirs, by whom the owner names")
  func shares() {
    let room = ByteRoom(limit: 100, shareLimit: 40)
    let first = room.take(30, for: ["a"])
    #expect(first != nil)
    #expect(room.take(11, for: ["a"]) == nil)
    let others = ["b", "c"].map { room.take(30, for: [$0]) }
    #expect(others.allSatisfy { $0 != nil })
    #expect(room.take(30, for: ["d"]) == nil)
    // Each of several payers must have room.
    #expect(room.take(11, for: ["e", "a"]) == nil)
    #expect(room.take(5, for: ["e", "a"]) != nil)
    // Who has nothing else may have one that is larger than a share, where there is room.
    #expect(ByteRoom(limit: 100, shareLimit: 40).take(90, for: ["a"]) != nil)
    // A share grows as far as its payer has room.
    #expect(first?.grow(by: 5) == true)
    #expect(first?.grow(by: 6) == false)
    withExtendedLifetime((first, others)) {}
  }

  @Test("that sends requests without end, and reads nothing, waits for itself alone")
  func pipelining() throws {
    let server = try makeServer()
    let client = try RawClient(port: server.port, receiveBuffer: 4096)
    let requests = Array(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 2000).utf8)
    SystemThread.detach { [port = server.port] in
      let other = try? RawClient(port: port, receiveBuffer: 4096)
      for _ in 0..<50 where other?.send(requests) == false { return }
    }
    client.send(requests)
    for _ in 0..<50 { #expect(try isServing(server)) }
    for _ in 0..<2000 { #expect(try client.readResponse().status == 200) }
  }

  @Test("that begins with TLS, or any other bytes, is refused")
  func garbage() throws {
    let server = try makeServer()
    var random = SystemRandomNumberGenerator()
    for _ in 0..<200 {
      let client = try RawClient(port: server.port)
      client.send(
        (0..<Int.random(in: 1...2000, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
      client.finishSending()
      let answer = String(decoding: client.readToEnd(), as: UTF8.self)
      #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 400 "))
    }
    #expect(try isServing(server))
  }
}
