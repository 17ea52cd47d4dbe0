package import HoldfastCore
import HoldfastHTTP
import HoldfastServer

extension TestServer {
  /// Sends a request with a bearer's token, from an address.
  @discardableResult
  package func send(
    _ method: String, _ path: String, _ body: JSONValue? = nil, token: String? = nil,
    from address: String = "192.0.2.1"
  ) throws -> ReadAnswer {
    var request = Self.request(method, path, body?.bytes ?? [], token: token)
    request.remoteAddress = address
    return ReadAnswer(response: try respond(to: request))
  }

  /// Tries to sign in.
  package func tryPassword(_ password: String, of name: String = "alice", from address: String = "192.0.2.1")
    throws
    -> ReadAnswer
  {
    try send(
      "POST", "/v1/sessions",
      ["name": .string(name), "password": .string(password), "device": ["name": "x"]], from: address)
  }
}
