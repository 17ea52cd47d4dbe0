import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// A server with a zone of every kind, and everybody who may ask for something in it. All zones are alice's.
final class AccessScene {
  /// Who sends a request.
  enum Sender: String, CaseIterable {
    /// Nobody: there is no token.
    case stranger
    /// A session that was ended, a device that was revoked, and a JWT whose time is over, all of owners.
    case signedOut, revoked, expired
    /// A user who is no member, and members.
    case other, viewer, editor, owner
    /// An editor's service token of all alice's zones, and one of other zones.
    case program, strayProgram

    /// Those whose tokens are good.
    static let known: [Sender] = [.other, .viewer, .editor, .owner, .program, .strayProgram]

    static let members: [Sender] = [.viewer, .editor, .owner]
  }

  /// A record that was made for one request.
  struct Target {
    let table: String
    var id: String
    /// Its zone, and the record that it is under.
    var zone: String
    var parent: String
    /// Stands in the record, and nowhere else.
    let secret: String
    /// What others would write in its place. Of a member: another user.
    let other: String
  }

  private let provider = TestProvider()
  let server: TestServer
  let alice: RestClient
  private let aliceUser: String
  private let aliceDevice: TestDevice
  private let list: String
  private var tokens: [Sender: String] = [:]
  /// Rises with everything that is made.
  private(set) var count = 0

  init() throws {
    server = try TestServer(provider: provider.configuration)
    aliceDevice = try server.signUp("alice")
    alice = RestClient(aliceDevice)
    aliceUser = aliceDevice.user
    list = try alice.create("lists", ["title": "Groceries"])
    let administration = try Administration(server.location, environment: server.world.environment)
    try administration.grant(zone: "catalogue", name: "alice", role: .owner)
    for sender in [Sender.other, .viewer, .editor, .owner] { _ = try server.signUp(sender.rawValue) }
    for zone in [list, aliceUser, "catalogue"] { try addMembers(to: zone) }
    tokens[.strayProgram] = try makeToken([alice.create("lists", ["title": "Elsewhere"])])
    tokens[.program] = try makeToken([list, aliceUser, "catalogue"])
    try endSessions()
    try signIn()
  }

  /// New sessions for all who have a password: those of before may have ended.
  func signIn() throws {
    for sender in [Sender.other] + Sender.members {
      tokens[sender] = try server.signIn(sender.rawValue).token
    }
  }

  private func addMembers(to zone: String) throws {
    let members = Sender.members.map { sender -> JSONValue in
      let columns: JSONValue = ["name": .string(sender.rawValue), "role": .string(sender.rawValue)]
      return ["op": "create", "table": "members", "zone": .string(zone), "columns": columns]
    }
    let answer = try alice.batch(members)
    try #require(answer.status == 200)
    let made = try #require(JSONValue(parsing: answer.body)["results"]?.elements)
    for (sender, result) in zip(Sender.members, made) {
      try server.accept(result["record"]?["id"]?.stringValue ?? "", by: sender.rawValue)
    }
  }

  private func makeToken(_ zones: [String]) throws -> String {
    count += 1
    return try Administration(server.location, environment: server.world.environment).createToken(
      name: "program-\(count)", role: .editor, tables: nil, zones: zones)
  }

  /// Tokens that were good, and are so no longer.
  private func endSessions() throws {
    let (left, lost) = (try server.signIn("owner"), try server.signIn("owner"))
    let claims = TestProvider.claims("s-1", at: server.world.now)
    let jwt = provider.token(claims)
    let session = try server.send("POST", "/v1/sessions", ["token": .string(jwt), "device": ["name": "x"]])
    let user = try #require(session.body["user"]?["id"])
    let membership: JSONValue = ["zone": .string(list), "columns": ["user": user, "role": "owner"]]
    let answer = try alice.send("POST", "/v1/tables/members", membership)
    let made = try JSONValue(parsing: answer.body)["id"]?.stringValue ?? ""
    let token = try #require(session.body["token"]?.stringValue)
    try server.send("POST", "/v1/memberships/\(made)/accept", token: token)
    for token in [left.token, lost.token, jwt] {
      try #require(try server.send("GET", "/v1/zones/\(list)/changes", token: token).status == 200)
    }
    try server.send("DELETE", "/v1/sessions/current", token: left.token)
    try server.send("DELETE", "/v1/devices/\(lost.id)", token: server.signIn("owner").token)
    server.world.advance(600_000)
    (tokens[.signedOut], tokens[.revoked], tokens[.expired]) = (left.token, lost.token, jwt)
  }

  // MARK: Asking

  /// The token of a sender, for what concerns a record.
  func token(of sender: Sender, for target: Target) throws -> String? {
    // The zones of a token do not change, and a new list is a new zone.
    if sender == .program, target.table == "lists" { return try makeToken([target.zone]) }
    return tokens[sender]
  }

  /// The id of a device of the owner.
  func deviceOfOwner() throws -> String { try server.signIn("owner").id }

  /// All that a request that is refused must leave as it was.
  func state(of target: Target) throws -> [[UInt8]] {
    try ["/v1/zones", "/v1/tables/\(target.table)/\(target.id)"].map { try alice.get($0).body }
  }

  // MARK: Records

  /// Makes a record of a table in a zone of alice's.
  func makeTarget(_ table: String) throws -> Target {
    count += 1
    var target = Target(
      table: table, id: "", zone: list, parent: list, secret: "secret-\(count)",
      other: "other-\(count)")
    switch table {
    case "lists":
      target.id = try alice.create(table, ["title": .string(target.secret)])
      (target.zone, target.parent) = (target.id, target.id)
      try addMembers(to: target.id)
      return target
    case "seals": target.parent = try alice.create("items", columns("items", target, target.secret))
    case "notes": target.zone = aliceUser
    case "products": target.zone = "catalogue"
    case "members": for name in [target.secret, target.other] { _ = try server.signUp(name) }
    case "conflicts": return try makeConflict(target)
    default: break
    }
    let body = body(of: table, target, target.secret)
    let answer = try alice.send("POST", "/v1/tables/\(table)", body)
    try #require(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
    target.id = answer.id
    return target
  }

  /// Makes an invitation; to a new list unless a zone is named. To a zone that is not there it is none.
  func makeInvitation(to zone: String?) throws -> (id: String, token: String) {
    let zone = try zone ?? alice.create("lists", ["title": "Invited"])
    let answer = try alice.send(
      "POST", "/v1/zones/\(zone)/invitations", ["role": "viewer", "expires_in": 60, "uses": 1])
    return (answer.json["id"]?.stringValue ?? server.world.id(), answer.json["token"]?.stringValue ?? "")
  }

  /// A record that is not there, in a zone that is not there.
  func ghost(of target: Target) -> Target {
    var ghost = target
    (ghost.id, ghost.zone, ghost.parent) = (server.world.id(), server.world.id(), server.world.id())
    if target.zone == target.id { ghost.zone = ghost.id }
    if target.parent == target.zone { ghost.parent = ghost.zone }
    return ghost
  }

  /// A conflict of a note of an item: the secret lost.
  private func makeConflict(_ target: Target) throws -> Target {
    var target = target
    target.parent = try alice.create("items", ["list_id": .string(list), "title": "Milk"])
    let path = "/v1/tables/items/\(target.parent)"
    try server.send("PATCH", path, ["columns": ["note": "winner"]], token: tokens[.owner])
    try alice.send("PATCH", path, ["rev": 1, "columns": ["note": .string(target.secret)]])
    let found = try alice.get("/v1/tables/conflicts?where.record_id=\(target.parent)").json["records"]
    target.id = try #require(found?.elements?.first?["id"]?.stringValue)
    return target
  }

  /// The columns of a whole record beside or in place of a target.
  func columns(_ table: String, _ target: Target, _ text: String) -> JSONValue {
    let text = JSONValue.string(text)
    return switch table {
    case "lists": ["title": text]
    case "tags": ["list_id": .string(target.parent), "name": text]
    case "items": ["list_id": .string(target.parent), "title": text]
    case "seals": ["item_id": .string(target.parent)]
    case "notes": ["text": text]
    case "products": ["name": text]
    // Who a member is does not change.
    case "members": ["name": .string(target.secret), "role": "viewer"]
    default: [:]
    }
  }

  /// The body of a create or a replacement.
  func body(of table: String, _ target: Target, _ text: String) -> JSONValue {
    let columns = columns(table, target, text)
    return table == "members" ? ["zone": .string(target.zone), "columns": columns] : ["columns": columns]
  }
}
