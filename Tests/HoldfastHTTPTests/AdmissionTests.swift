import HoldfastConcurrency
import Testing

@testable import HoldfastHTTP

/// The owner decides by the head whether a content is read: of strangers it reads none.
@Suite("A content that nobody has asked for") struct AdmissionTests {
  /// A server that admits by a field, at once or later.
  private func makeServer(_ requests: Mailbox<HTTPRequest>) throws -> HTTPServer {
    try HTTPServer(
      failure: { .text("own \($0.status)", status: $0.status) },
      admission: { head, admission in
        #expect(head.body.isEmpty)
        let decide: @Sendable () -> Void = {
          switch head.headers["X-Token"] {
          case "good": admission.admit()
          case "small": admission.admit(maximumBodyBytes: 1000)
          case "purged": break
          default: admission.refuse(.text("who?", status: 401))
          }
        }
        if head.target == "/later" { SystemThread.detach(decide) } else { decide() }
      }
    ) { request, responder in
      requests.put(request)
      responder.respond(.text("\(request.body.count)"))
    }
  }

  @Test("is not read: the answer comes to the head alone", arguments: ["/now", "/later"])
  func refused(target: String) throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    for framing in [
      "Content-Length: 8000000", "Content-Length: 9000000000000", "Transfer-Encoding: chunked",
      "Content-Length: 5\r\nExpect: 100-continue",
    ] {
      let client = try RawClient(port: server.port)
      client.send("POST \(target) HTTP/1.1\r\nHost: h\r\n\(framing)\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == 401)
      #expect(response.text == "who?")
      #expect(response.header("Connection") == "close")
      #expect(client.readToEnd().isEmpty)
    }
    #expect(requests.count == 0)
  }

  @Test("is thrown away where it comes all the same, so that its sender reads the answer")
  func sentAnyway() throws {
    let server = try makeServer(Mailbox())
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n")
    client.send([UInt8](repeating: 1, count: 900_000))
    #expect(try client.readResponse().text == "who?")
    #expect(client.readToEnd().isEmpty)
  }

  @Test("is read when it is wanted, and only as far", arguments: ["/now", "/later"])
  func admitted(target: String) throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let head = "POST \(target) HTTP/1.1\r\nHost: h\r\nX-Token: "
    for (token, count, status) in [
      ("good", 200_000, 200), ("small", 1000, 200), ("small", 1001, 413), ("purged", 1, 500),
    ] {
      let client = try RawClient(port: server.port)
      client.send(
        "\(head)\(token)\r\nContent-Length: \(count)\r\n\r\n\(String(repeating: "x", count: count))")
      let response = try client.readResponse()
      #expect(response.status == status, "\(token) \(count)")
      if status == 200 { #expect(response.text == "\(count)") }
    }
    #expect(requests.count == 2)
  }

  @Test("of few bytes does not become many: the limit is that of what it is without its coding")
  func coded() throws {
    let server = try makeServer(Mailbox())
    let text = [UInt8](repeating: 0x20, count: 5_000_000)
    for coding in ContentCoding.allCases {
      let coded = try #require(coding.encode(text))
      for (token, status) in [("good", 200), ("none", 401)] {
        let client = try RawClient(port: server.port)
        client.send(
          "POST / HTTP/1.1\r\nHost: h\r\nX-Token: \(token)\r\nContent-Encoding: \(coding.rawValue)\r\nContent-Length: \(coded.count)\r\n\r\n"
        )
        client.send(coded)
        let response = try client.readResponse()
        #expect(response.status == status)
        if status == 200 { #expect(response.text == "5000000") }
      }
      let small = try #require(coding.encode(Array(text.prefix(1001))))
      let client = try RawClient(port: server.port)
      client.send(
        "POST / HTTP/1.1\r\nHost: h\r\nX-Token: small\r\nContent-Encoding: \(coding.rawValue)\r\nContent-Length: \(small.count)\r\n\r\n"
      )
      client.send(small)
      #expect(try client.readResponse().status == 413)
    }
  }

  @Test("of thousands of members or frames is refused after some", arguments: ContentCoding.allCases)
  func members(coding: ContentCoding) throws {
    let server = try makeServer(Mailbox())
    let empty = try #require(coding.encode([]))
    let client = try RawClient(port: server.port)
    let body = Array(repeatElement(empty, count: 10_000).joined())
    client.send(
      "POST / HTTP/1.1\r\nHost: h\r\nX-Token: good\r\nContent-Encoding: \(coding.rawValue)\r\nContent-Length: \(body.count)\r\n\r\n"
    )
    client.send(body)
    #expect(try client.readResponse().status == 400)
  }
}
