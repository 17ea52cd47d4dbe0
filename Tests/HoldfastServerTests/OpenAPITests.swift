import HoldfastCore
import HoldfastHTTP
import HoldfastService
import ServerScenes
import Testing

@testable import HoldfastServer

/// The document of the interface says what the interface does.
@Suite struct OpenAPITests {
  private let server: TestServer
  private let document: JSONValue

  init() throws {
    server = try TestServer()
    document = try JSONValue(parsing: try server.respond(to: HTTPRequest(target: "/openapi.json")).body)
  }

  private struct Documented {
    let path: String
    let methods: TextSet
  }

  /// The addresses of the document, with a name in place of each parameter.
  private var documented: [Documented] {
    (document["paths"]?.members ?? []).map { path in
      let parts = path.name.split(separator: "/").map { $0.hasPrefix("{") ? "some" : String($0) }
      return Documented(
        path: "/" + parts.joined(separator: "/"),
        methods: TextSet((path.value.members ?? []).map { $0.name.uppercased() }))
    }
  }

  @Test("each address of the document is there, and has the methods that it says, and no others")
  func methods() throws {
    #expect(documented.count > 20)
    for address in documented {
      let answer = try server.respond(to: HTTPRequest(method: "OPTIONS", target: address.path))
      let allow = try #require(answer.headers.first { $0.name == "Allow" }?.value, "\(address.path)")
      let methods = TextSet(allow.split(separator: ",").map { $0.filter { $0 != " " } })
      #expect(methods.subtracting(["HEAD", "OPTIONS"]) == address.methods, "\(address.path)")
    }
  }

  @Test("each address of the protocol is in the document")
  func complete() throws {
    let paths = TextSet(documented.map(\.path))
    for address in Address.examples {
      #expect(paths.contains(address), "\(address) is not in the document")
    }
  }

  @Test("what the document says takes a token is refused without one (I10)")
  func secured() throws {
    for path in document["paths"]?.members ?? [] {
      for operation in path.value.members ?? [] where operation.value["security"]?.elements?.isEmpty != true {
        let target = path.name.split(separator: "/").map { $0.hasPrefix("{") ? "some" : String($0) }
        var headers = HTTPHeaders()
        headers.append(name: "Content-Type", value: "application/json")
        let request = HTTPRequest(
          method: operation.name.uppercased(), target: "/" + target.joined(separator: "/"), headers: headers,
          body: Array("{".utf8))
        #expect(try server.respond(to: request).status == 401, "\(operation.name) \(path.name)")
      }
    }
  }

  @Test("each way to be known that the document names is one that the server takes (I10)")
  func schemes() throws {
    let alice = try server.signUp("alice")
    let schemes = try #require(document["components"]?["securitySchemes"])
    #expect(schemes.members?.map(\.name) == ["session", "cookie", "ticket"])
    #expect(document["security"] == [["session": []], ["cookie": []]])
    #expect(schemes["session"]?["scheme"] == "bearer")
    #expect(try server.send("GET", "/v1/zones", token: alice.token).status == 200)
    let cookie = try #require(schemes["cookie"]?["name"]?.stringValue)
    var request = TestServer.request("GET", "/v1/zones", [], token: nil)
    request.headers.append(name: "Cookie", value: "\(cookie)=\(alice.token)")
    #expect(try server.respond(to: request).status == 401)
    request.headers.append(
      name: "Holdfast-Session", value: "cookie \(SessionCookie.id(of: TokenHash(of: alice.token)))")
    #expect(try server.respond(to: request).status == 200)
    let made = try server.send("POST", "/v1/events/tickets", token: alice.token).body
    let query = "\(schemes["ticket"]?["name"]?.stringValue ?? "")=\(made["ticket"]?.stringValue ?? "")"
    let events = document["paths"]?["/v1/events"]?["get"]?["security"]
    #expect(events == [["session": []], ["cookie": []], ["ticket": []]])
    let opened = try #require(server.inline).open(HTTPRequest(target: "/v1/events?\(query)"), stream: 1)
    #expect(throws: Never.self) { try opened.get() }
  }

  @Test("what a read answers to a precondition is in the document")
  func preconditions() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    for path in document["paths"]?.members ?? [] where path.name != "/v1/events" {
      guard let read = path.value["get"] else { continue }
      let parts = path.name.split(separator: "/").map { part in
        part == "{zone}" || part == "{id}" ? list : part.hasPrefix("{") ? "some" : String(part)
      }
      for (name, value) in [("If-Match", "\"none\""), ("If-None-Match", "*")] {
        let answer = try alice.get("/" + parts.joined(separator: "/"), [(name, value)])
        #expect(read["responses"]?[String(answer.status)] != nil, "\(path.name): \(answer.status)")
      }
    }
  }

  @Test(
    "the limits of accounts are in the document",
    arguments: [
      ("/v1/accounts", "post", [403, 429]), ("/v1/devices", "post", [429]), ("/v1/users", "get", [429]),
      ("/v1/sessions", "post", [429]),
    ])
  func limits(_ path: String, _ method: String, _ statuses: [Int]) throws {
    let responses = try #require(document["paths"]?[path]?[method]?["responses"])
    for status in statuses { #expect(responses[String(status)] != nil, "\(method) \(path): \(status)") }
  }

  @Test("every reference of the document leads somewhere, and every operation has an id of its own")
  func references() throws {
    var ids: TextSet = []
    var references: TextSet = []
    func walk(_ value: JSONValue) {
      for member in value.members ?? [] {
        if member.name == "$ref", let text = member.value.stringValue { references.insert(text) }
        if member.name == "operationId", let text = member.value.stringValue {
          #expect(ids.insert(text).inserted, "\(text)")
        }
        walk(member.value)
      }
      for element in value.elements ?? [] { walk(element) }
    }
    walk(document)
    #expect(ids.count > 30)
    for reference in references {
      var place: JSONValue? = document
      for part in reference.split(separator: "/").dropFirst() { place = place?[String(part)] }
      #expect(place != nil, "\(reference)")
    }
  }
}

extension Address {
  /// A path for each address of the protocol. A new case does not compile until it is named here.
  fileprivate static var examples: [String] {
    func path(_ address: Address) -> String {
      switch address {
      case .sync: "/v1/sync"
      case .accounts: "/v1/accounts"
      case .sessions: "/v1/sessions"
      case .currentSession: "/v1/sessions/current"
      case .devices: "/v1/devices"
      case .pushToken: "/v1/push-token"
      case .device: "/v1/devices/some"
      case .account: "/v1/account"
      case .password: "/v1/account/password"
      case .export(nil): "/v1/account/export"
      case .export: "/v1/account/export/lists"
      case .events: "/v1/events"
      case .eventTickets: "/v1/events/tickets"
      case .records: "/v1/tables/lists"
      case .record: "/v1/tables/lists/some"
      case .restoration: "/v1/tables/lists/some/restore"
      case .resolution: "/v1/tables/conflicts/some/resolve"
      case .batch: "/v1/batch"
      case .schema: "/v1/schema"
      case .openAPI: "/openapi.json"
      case .health: "/healthz"
      case .readiness: "/readyz"
      case .snapshot: "/v1/zones/some/snapshot"
      case .zones: "/v1/zones"
      case .changes: "/v1/zones/some/changes"
      case .invitations: "/v1/zones/some/invitations"
      case .invitation: "/v1/zones/some/invitations/some"
      case .acceptance: "/v1/invitations/accept"
      case .invitationLook: "/v1/invitations/look"
      case .memberships: "/v1/memberships"
      case .users: "/v1/users"
      case .passes: "/v1/passes"
      case .databases: "/v1/databases"
      case .membership: "/v1/memberships/some"
      case .membershipAcceptance: "/v1/memberships/some/accept"
      case .ownMembership: "/v1/zones/some/membership"
      case .grants: "/v1/zones/some/grants"
      case .grant: "/v1/zones/some/grants/some"
      case .blocks: "/v1/blocks"
      case .block: "/v1/blocks/some"
      }
    }
    let all: [Address] = [
      .sync, .accounts, .sessions, .currentSession, .devices, .device("some"), .account, .password, .events,
      .records(table: 0), .record(table: 0, id: "some"), .restoration(table: 0, id: "some"),
      .resolution(id: "some"), .batch, .schema, .openAPI, .health,
      .readiness, .snapshot("some"), .zones, .changes("some"), .export(table: nil), .export(table: 0),
      .invitations("some"), .invitation("some", id: "some"), .acceptance, .invitationLook,
      .users, .passes, .databases, .memberships, .membership("some"), .membershipAcceptance("some"),
      .ownMembership("some"),
      .grants("some"), .grant("some", id: "some"), .blocks, .block("some"),
    ]
    return all.map(path)
  }
}
