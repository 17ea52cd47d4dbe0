package import HoldfastCore
package import HoldfastHTTP
import HoldfastServer
import Testing

/// A program that keeps no copy: it speaks REST with the token of a session.
package struct RestClient {
  package let server: TestServer
  package let token: String

  package init(_ device: TestDevice) { (server, token) = (device.server, device.token) }

  /// An answer.
  package struct Reply {
    package let status: Int
    package let headers: TextMap<String>
    package let body: [UInt8]

    package init(_ response: HTTPResponse) {
      status = response.status
      headers = TextMap(response.headers.map { ($0.name, $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
      body = response.body
    }

    package var json: JSONValue { (try? JSONValue(parsing: body)) ?? .null }
    /// The code of a problem.
    package var code: String? { json["code"]?.stringValue }
    package var results: [JSONValue] { json["results"]?.elements ?? [] }
    /// The statuses of the results.
    package var statuses: [Int64] { results.compactMap { $0["status"]?.integerValue } }
    package var isReplay: Bool { headers["Idempotency-Replayed"] == "true" }
    package var id: String { json["id"]?.stringValue ?? "" }
    package var rev: Int64? { json["rev"]?.integerValue }

    package func column(_ name: String) -> JSONValue? { json["columns"]?[name] }
  }

  package func request(
    _ method: String, _ path: String, _ body: JSONValue? = nil, id: String? = nil,
    _ headers: TextMap<String> = [:]
  ) -> HTTPRequest {
    var fields = HTTPHeaders()
    fields.append(name: "Authorization", value: "Bearer \(token)")
    if body != nil, headers["Content-Type"] == nil {
      fields.append(name: "Content-Type", value: "application/json")
    }
    if let id { fields.append(name: "X-Client-Request-ID", value: id) }
    for (name, value) in headers { fields.append(name: name, value: value) }
    return HTTPRequest(method: method, target: path, headers: fields, body: body?.bytes ?? [])
  }

  @discardableResult
  package func send(
    _ method: String, _ path: String, _ body: JSONValue? = nil, id: String? = nil,
    _ headers: TextMap<String> = [:]
  ) throws -> Reply {
    Reply(try server.respond(to: request(method, path, body, id: id, headers)))
  }

  package func get(_ path: String, _ headers: TextMap<String> = [:]) throws -> Reply {
    try send("GET", path, nil, headers)
  }

  /// Sends a body that may be no JSON.
  package func send(_ method: String, _ path: String, text: String) throws -> Reply {
    var request = request(method, path, .null)
    request.body = Array(text.utf8)
    return Reply(try server.respond(to: request))
  }

  /// Makes a record, and gives its id.
  package func create(_ table: String, _ columns: JSONValue) throws -> String {
    let reply = try send("POST", "/v1/tables/\(table)", ["columns": columns])
    try #require(reply.status == 201, "\(String(decoding: reply.body, as: UTF8.self))")
    return reply.id
  }

  package func batch(_ operations: [JSONValue], atomic: Bool? = nil, id: String? = nil) throws -> Reply {
    var members: [JSONValue.Member] = [.init("operations", .array(operations))]
    if let atomic { members.append(.init("atomic", .bool(atomic))) }
    return try send("POST", "/v1/batch", .object(members), id: id)
  }

  /// The number of records of `conflicts`, as a device sees them.
  package static func conflicts(_ device: TestDevice) throws -> [JSONValue] {
    try device.pull()
    return device.all("conflicts")
  }
}

/// The schema of these tests: the other tests' one, with JSON in it.
package enum RestSchema {
  package static func make() throws -> SyncSchema {
    let text = TestServer.text.replacing(
      #""amount": {"type": "integer""#, with: #""extra": {"type": "json"}, "amount": {"type": "integer""#)
    return try SyncSchema(json: Array(text.utf8))
  }
}
