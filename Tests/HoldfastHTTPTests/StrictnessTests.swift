import HoldfastHTTP
import Testing

/// What two readers could understand in two ways is understood in none: RFC 9110 and 9112, byte by byte over a socket.
@Suite("A request that is not by the letter") struct StrictnessTests {
  private static let long = String(repeating: "x", count: 60_000)
  private static let get = "GET / HTTP/1.1\r\n"
  private static let host = "Host: h\r\n"
  private static let post = "POST / HTTP/1.1\r\nHost: h\r\n"
  private static let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// Whatever stands behind the first request, if that could be read as a request of its own.
  private static let smuggled = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"

  static let refused: [(what: String, bytes: String, status: Int)] = [
    // Lines.
    ("a line that ends with LF alone", "GET / HTTP/1.1\nHost: h\n\n", 400),
    ("a field that ends with LF alone", get + "Host: h\nX: y\r\n\r\n", 400),
    ("a head that ends with LF alone", get + "Host: h\r\n\n", 400),
    ("CR inside a value", get + host + "X: a\rb\r\n\r\n", 400),
    ("CR CR LF", get + "Host: h\r\r\n\r\n", 400),
    ("CR before a request", "\rGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("two empty lines before a request", "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a line that goes on (obs-fold)", get + host + "X: a\r\n b\r\n\r\n", 400),
    ("a line that goes on with a tab", get + host + "X: a\r\n\tb\r\n\r\n", 400),
    ("a first field that begins with a space", get + " X: a\r\n" + host + "\r\n", 400),
    // The request line.
    ("two spaces", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a space at the end", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400),
    ("a space before the method", " GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a tab between the parts", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a space in the target", "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("no version", "GET /\r\n\r\n", 400),
    ("no target", "GET HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a method that is no token", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a version in lower case", "GET / http/1.1\r\nHost: h\r\n\r\n", 400),
    ("a version without a minor one", "GET / HTTP/1\r\nHost: h\r\n\r\n", 400),
    ("a version of three numbers", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400),
    ("HTTP/2 in the line", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
    ("HTTP/0.9 in the line", "GET / HTTP/0.9\r\n\r\n", 505),
    ("HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    ("NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a byte beyond ASCII in the target", "GET /ä HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a fragment", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a target without a slash", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("an asterisk with a path behind it", "OPTIONS */a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("an asterisk for what is not OPTIONS", "GET * HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("an authority as the target", "GET h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("CONNECT", "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501),
    ("an absolute target without a host", "GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("an absolute target with a user", "GET http://u@h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("an absolute target of another scheme", "GET ftp://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    ("a target that is too long", "GET /\(long) HTTP/1.1\r\nHost: h\r\n\r\n", 414),
    // Host.
    ("no Host", get + "\r\n", 400),
    ("two Hosts", get + host + host + "\r\n", 400),
    ("two Hosts that differ", get + host + "hOst: other\r\n\r\n", 400),
    ("two names in one Host", get + "Host: a, b\r\n\r\n", 400),
    ("a Host with a space", get + "Host: a b\r\n\r\n", 400),
    ("a Host with a path", get + "Host: h/a\r\n\r\n", 400),
    ("a Host with a user", get + "Host: u@h\r\n\r\n", 400),
    ("a Host with a port that is none", get + "Host: h:8o\r\n\r\n", 400),
    ("a Host with a port that is too large", get + "Host: h:65536\r\n\r\n", 400),
    ("a Host with a port that wraps around", get + "Host: h:99999999999999999999999\r\n\r\n", 400),
    // Fields.
    ("a space before the colon", post + "Content-Length : \(smuggled.utf8.count)\r\n\r\n", 400),
    ("a tab before the colon", post + "Content-Length\t: \(smuggled.utf8.count)\r\n\r\n", 400),
    ("no name", get + host + ": x\r\n\r\n", 400),
    ("no colon", get + host + "X\r\n\r\n", 400),
    ("a space in a name", get + host + "X Y: z\r\n\r\n", 400),
    ("a name with a byte beyond ASCII", get + host + "Xä: z\r\n\r\n", 400),
    ("a name in brackets", get + host + "[X]: z\r\n\r\n", 400),
    ("NUL in a value", get + host + "X: a\0b\r\n\r\n", 400),
    ("NUL in a name", get + host + "X\0: a\r\n\r\n", 400),
    ("a bell in a value", get + host + "X: \u{7}\r\n\r\n", 400),
    ("DEL in a value", get + host + "X: \u{7F}\r\n\r\n", 400),
    ("a field that is too long", get + host + "X: \(long)\r\n\r\n", 431),
    ("too many fields", get + host + String(repeating: "X: y\r\n", count: 9000) + "\r\n", 431),
    ("another expectation", post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\n", 417),
    // The length of a content.
    ("a length twice, the same", post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\na", 400),
    ("a length twice, another", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\na", 400),
    ("two lengths in one field", post + "Content-Length: 1, 1\r\n\r\na", 400),
    ("a negative length", post + "Content-Length: -1\r\n\r\n", 400),
    ("a length with a plus", post + "Content-Length: +1\r\n\r\na", 400),
    ("a hexadecimal length", post + "Content-Length: 0x1\r\n\r\na", 400),
    ("a length with a space inside", post + "Content-Length: 1 1\r\n\r\na", 400),
    ("a length with a point", post + "Content-Length: 1.0\r\n\r\na", 400),
    ("a length in other digits", post + "Content-Length: ١\r\n\r\na", 400),
    ("no length", post + "Content-Length:\r\n\r\n", 400),
    ("a length of 20 digits", post + "Content-Length: 99999999999999999999\r\n\r\n", 413),
    ("a length that wraps around", post + "Content-Length: 18446744073709551617\r\n\r\na", 413),
    (
      "a length with a coding", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400
    ),
    (
      "a coding with a length", post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400
    ),
    ("a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (
      "the coding twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      400
    ),
    ("the coding twice in one field", post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
    ("the coding before another", post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", 400),
    ("a coding that is no name", post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400),
    ("a coding with a vertical tab", post + "Transfer-Encoding: \u{B}chunked\r\n\r\n0\r\n\r\n", 400),
    ("an empty coding", post + "Transfer-Encoding:\r\n\r\n0\r\n\r\n", 400),
    ("another coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
    ("identity", post + "Transfer-Encoding: identity\r\n\r\n", 501),
    ("a coding with junk", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
    // Chunks.
    ("a size that is none", chunked + "zz\r\n", 400),
    ("no size", chunked + "\r\n", 400),
    ("a negative size", chunked + "-1\r\na\r\n", 400),
    ("a size with 0x", chunked + "0x1\r\na\r\n0\r\n\r\n", 400),
    ("a space behind a size", chunked + "1 \r\na\r\n0\r\n\r\n", 400),
    ("a space before a size", chunked + " 1\r\na\r\n0\r\n\r\n", 400),
    ("a size that wraps around", chunked + "10000000000000001\r\na\r\n", 413),
    ("a size that is too large", chunked + "7FFFFFFF\r\na", 413),
    ("a size that ends with LF alone", chunked + "1\na\r\n0\r\n\r\n", 400),
    ("a size that ends with CR alone", chunked + "1\ra\r\n0\r\n\r\n", 400),
    ("an extension without a name", chunked + "1;\r\na\r\n0\r\n\r\n", 400),
    ("an extension that is empty", chunked + "1;;\r\na\r\n0\r\n\r\n", 400),
    ("an extension without a value", chunked + "1;a=\r\na\r\n0\r\n\r\n", 400),
    ("an extension of a value", chunked + "1;=b\r\na\r\n0\r\n\r\n", 400),
    ("an extension that is no token", chunked + "1;(\r\na\r\n0\r\n\r\n", 400),
    ("an extension with an open quotation", chunked + "1;a=\"b\r\na\r\n0\r\n\r\n", 400),
    ("an extension with half a quotation", chunked + "1;a=\"\r\na\r\n0\r\n\r\n", 400),
    ("an extension with an escape at its end", chunked + "1;a=\"\\\r\na\r\n0\r\n\r\n", 400),
    ("an extension with junk behind a quotation", chunked + "1;a=\"b\"c\r\na\r\n0\r\n\r\n", 400),
    ("an extension of letters beyond ASCII", chunked + "1;a=é\r\na\r\n0\r\n\r\n", 400),
    ("an extension with a space at its end", chunked + "1;a \r\na\r\n0\r\n\r\n", 400),
    ("a size of too many digits", chunked + String(repeating: "0", count: 64) + "1\r\na\r\n0\r\n\r\n", 400),
    ("an extension with LF", chunked + "1;a\nb\r\na\r\n0\r\n\r\n", 400),
    ("an extension with CR", chunked + "1;a\rb\r\na\r\n0\r\n\r\n", 400),
    ("an extension with NUL", chunked + "1;a\0b\r\na\r\n0\r\n\r\n", 400),
    ("an extension that is too long", chunked + "1;\(long)\r\na\r\n0\r\n\r\n", 400),
    ("a chunk longer than its size", chunked + "1\r\nab\r\n0\r\n\r\n", 400),
    ("a chunk that ends with LF alone", chunked + "1\r\na\n0\r\n\r\n", 400),
    ("a trailer that is no field", chunked + "0\r\nX\r\n\r\n", 400),
    ("a trailer with a space before the colon", chunked + "0\r\nX : y\r\n\r\n", 400),
    ("a trailer that is too long", chunked + "0\r\nX: \(long)\r\n\r\n", 431),
  ]

  @Test("is refused, the handler is not called, and nothing behind it is read", arguments: refused.indices)
  func isRefused(index: Int) throws {
    let (what, text, status) = Self.refused[index]
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send(text + Self.smuggled)
    let response = try client.readResponse()
    #expect(response.status == status, "\(what)")
    #expect(response.text == "own \(status)", "\(what)")
    #expect(response.header("Connection") == "close", "\(what)")
    #expect(response.header("X-Content-Type-Options") == "nosniff")
    client.finishSending()
    #expect(client.readToEnd().isEmpty, "\(what)")
    #expect(requests.count == 0, "\(what)")
  }

  @Test("is refused also where it comes byte by byte", arguments: refused.indices)
  func isRefusedInPieces(index: Int) throws {
    let (what, text, status) = Self.refused[index]
    if text.utf8.count > 1000 { return }
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    for byte in (text + Self.smuggled).utf8 where !client.send([byte]) { break }
    #expect(try client.readResponse().status == status, "\(what)")
    #expect(client.readToEnd().isEmpty, "\(what)")
    #expect(requests.count == 0, "\(what)")
  }

  static let taken: [(what: String, bytes: String, target: String, host: String?)] = [
    ("an empty line before a request", "\r\n" + get + host + "\r\n", "/", "h"),
    ("an empty Host", get + "Host:\r\n\r\n", "/", ""),
    ("a Host with the last port", get + "Host: h:65535\r\n\r\n", "/", "h:65535"),
    ("a Host with an empty port", get + "Host: h:\r\n\r\n", "/", "h:"),
    (
      "extensions with white space and escapes",
      chunked + "1 ; a = \"\\\";\t\" ;\tb\t=c;d \t; e\r\nx\r\n0 ;f=\"ä\"\r\n\r\n", "/", "h"
    ),
    (
      "a size with zeros before it",
      chunked + String(repeating: "0", count: 63) + "1\r\nx\r\n" + String(repeating: "0", count: 64)
        + "\r\n\r\n",
      "/", "h"
    ),
    ("a Host with a port", get + "Host: h.example:8080\r\n\r\n", "/", "h.example:8080"),
    ("a Host of IPv6", get + "Host: [::1]:8080\r\n\r\n", "/", "[::1]:8080"),
    ("no Host in HTTP/1.0", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "/", nil),
    ("an absolute target", "GET http://h/a?b=c HTTP/1.1\r\n\(host)\r\n", "/a?b=c", "h"),
    ("an absolute target of another host", "GET HTTP://Other:80/a HTTP/1.1\r\n\(host)\r\n", "/a", "Other:80"),
    ("an absolute target over TLS", "GET https://h/a HTTP/1.1\r\n\(host)\r\n", "/a", "h"),
    ("an absolute target without a path", "GET http://h HTTP/1.1\r\n\(host)\r\n", "/", "h"),
    ("an absolute target with a query alone", "GET http://h?a HTTP/1.1\r\n\(host)\r\n", "/?a", "h"),
    ("an asterisk", "OPTIONS * HTTP/1.1\r\n\(host)\r\n", "*", "h"),
    ("an absolute target of the server", "OPTIONS http://h HTTP/1.1\r\n\(host)\r\n", "*", "h"),
    ("percent-encoded NUL and slash", "GET /a%00%2Fb HTTP/1.1\r\n\(host)\r\n", "/a%00%2Fb", "h"),
    ("blanks around a value", get + "Host:\t h \t\r\n\r\n", "/", "h"),
    ("bytes beyond ASCII in a value", get + host + "X: ä\r\n\r\n", "/", "h"),
    ("a content of no bytes", post + "Content-Length: 000\r\n\r\n", "/", "h"),
    ("a coding in capitals", post + "Transfer-Encoding: \t CHUNKED\r\n\r\n0\r\n\r\n", "/", "h"),
    ("extensions and a trailer", chunked + "1;a=b;c=\"d\"\r\nx\r\n00;e\r\nX: y\r\nZ: \r\n\r\n", "/", "h"),
    ("a method of one's own", "BREW /pot HTTP/1.1\r\n\(host)\r\n", "/pot", "h"),
  ]

  @Test(
    "is not confused with what is merely unusual, behind which the next request is read",
    arguments: taken.indices)
  func isTaken(index: Int) throws {
    let (what, text, target, host) = Self.taken[index]
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send(text + "GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse().status == 200, "\(what)")
    #expect(try client.readResponse().status == 200, "\(what)")
    let request = try #require(requests.take())
    #expect(request.target == target, "\(what)")
    #expect(request.headers["Host"] == host, "\(what)")
    #expect(requests.take()?.target == "/next", "\(what)")
  }

  @Test("ends the connection, and requests before it were answered in their order")
  func pipelined() throws {
    let requests = Mailbox<HTTPRequest>()
    let server = try makeServer(requests)
    let client = try RawClient(port: server.port)
    client.send(
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost : h\r\n\r\n"
        + Self.smuggled)
    for status in [200, 200, 400] { #expect(try client.readResponse().status == status) }
    #expect(client.readToEnd().isEmpty)
    #expect(requests.count == 2)
  }

  @Test("HTTP/1.0 keeps a connection when it asks to, and is told so")
  func version10() throws {
    let server = try makeServer(Mailbox())
    let client = try RawClient(port: server.port)
    for _ in 0..<2 {
      client.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")
      #expect(try client.readResponse().header("Connection") == "keep-alive")
    }
    client.send("GET / HTTP/1.0\r\n\r\n")
    #expect(try client.readResponse().header("Connection") == "close")
    #expect(client.readToEnd().isEmpty)
  }

  private func makeServer(_ requests: Mailbox<HTTPRequest>) throws -> HTTPServer {
    try HTTPServer(threads: 1, failure: { .text("own \($0.status)", status: $0.status) }) {
      request, responder in
      requests.put(request)
      responder.respond(.text("ok"))
    }
  }
}
