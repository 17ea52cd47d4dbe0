package import HoldfastCore
package import HoldfastHTTP
import HoldfastServer
import Testing

/// One operation as a device sends it.
package struct Sent {
  package let json: JSONValue

  package init(json: JSONValue) { self.json = json }

  package static func create(_ table: String, _ id: String, _ columns: JSONValue, at: Stamp? = nil) -> Sent {
    Sent(json: [
      "op": "create", "table": .string(table), "id": .string(id), "at": text(at), "columns": columns,
    ])
  }

  package static func update(
    _ table: String, _ id: String, _ columns: JSONValue, rev: Int64 = 1, base: JSONValue = [:],
    at: Stamp? = nil
  ) -> Sent {
    Sent(json: [
      "op": "update", "table": .string(table), "id": .string(id), "rev": .integer(rev), "at": text(at),
      "columns": columns, "base": base,
    ])
  }

  package static func delete(_ table: String, _ id: String, rev: Int64 = 1, at: Stamp? = nil) -> Sent {
    Sent(json: [
      "op": "delete", "table": .string(table), "id": .string(id), "rev": .integer(rev), "at": text(at),
    ])
  }

  private static func text(_ stamp: Stamp?) -> JSONValue {
    .string((stamp ?? Stamp(milliseconds: 1000)).text)
  }
}

/// A record as a device has it.
package struct AwaitingZone: Equatable {
  package let zone: String
  package let rev: Int64
  package let columns: JSONValue
}

/// A device in its simplest form: sends change sets, and keeps what comes down.
package final class TestDevice {
  /// Another one when the server was restored.
  package var server: TestServer
  package let token: String
  package let id: String
  package let user: String
  package var confirmed: Int64 = 0
  package var chain = Fingerprint.beginning
  package var answers: Int64 = 0
  package var acks: TextMap<String> = [:]
  package var lastServerClock: Stamp?
  package var records: TextMap<AwaitingZone> = [:]
  /// Zones whose ack is to be told with the next request; nil for gone.
  package var unsentAcks: [SyncRequest.Ack] = []
  /// What it says of itself.
  package var client: ClientVersion?
  /// Whether it takes records of its own as it sent them.
  package var takesAsSent = false
  /// Beyond how many changes it takes a snapshot of a new zone.
  package var snapshotsFrom: Int64?
  /// What the server gave it to show, of itself and of zones.
  package var proof = ""
  package var proofs: TextMap<String> = [:]
  /// The zones that the server wants shown.
  package var wanted: [String] = []

  package init(_ server: TestServer, _ session: JSONValue) throws {
    self.server = server
    token = try #require(session["token"]?.stringValue)
    id = try #require(session["device"]?["id"]?.stringValue)
    user = try #require(session["user"]?["id"]?.stringValue)
  }

  /// A program with a token of its own.
  package init(_ server: TestServer, token: String) {
    self.server = server
    self.token = token
    (id, user) = ("", "")
  }

  package func newID() -> String { server.world.id() }

  /// A request with change sets behind those that were confirmed.
  ///
  /// - Parameter origin: that of the first of them, if it is carried from another database.
  package func request(_ sets: [[Sent]], complete: Bool = false, origin: String? = nil) -> HTTPRequest {
    var body = SyncRequest()
    body.acknowledgedRefusals = answers
    body.first = confirmed + 1
    body.chain = chain
    body.isComplete = complete
    body.acks = complete ? acks.map { .init(zone: $0.key, token: $0.value) } : unsentAcks
    body.lastServerClock = lastServerClock
    body.digest = digest
    body.client = client
    body.takesAsSent = takesAsSent
    body.snapshotsFrom = snapshotsFrom
    body.proof = proof
    body.claims = claims
    if let origin { body.carried = [CarriedChangeSet(first: confirmed + 1, origin: origin)] }
    let sealed = sets.map { JSONValue.array($0.map(\.json)).bytes }
    if !sealed.isEmpty {
      body.lastChain = sealed.reduce(chain) { chain, set in
        set.withUnsafeBufferPointer { chain.chained(with: $0) }
      }
    }
    return TestServer.request("POST", "/v1/sync", body.body(sealed: sealed), token: token)
  }

  /// What is shown of the zones that the server wants shown.
  package var claims: [RecoveryClaim] {
    wanted.map { zone in
      RecoveryClaim(
        zone: zone, proof: proofs[zone] ?? "", role: "owner",
        records: Int64(records.count { $0.value.zone == zone }))
    }
  }

  package var digest: String {
    var digest = AckDigest()
    for (zone, token) in acks { digest.add(zone: zone, token: token) }
    return digest.text
  }

  /// Sends change sets and applies the answer.
  @discardableResult
  package func sync(_ sets: [Sent]..., complete: Bool = false) throws -> SyncAnswer {
    try apply(try server.respond(to: request(sets, complete: complete)))
  }

  /// Sends one change set that is carried from another database.
  ///
  /// - Returns: why it was refused; nil if it was applied.
  package func carry(_ origin: String, _ set: Sent...) throws -> ProblemCode? {
    let answer = try apply(try server.respond(to: request([set], origin: origin)))
    #expect(answer.refused.allSatisfy { $0.last == answer.confirmed })
    return try answer.refused.last.map { try #require(Problem(document: $0.problem)).code }
  }

  /// Sends one change set that must be refused, and gives the problem.
  package func refused(_ set: Sent...) throws -> Problem {
    let answer = try apply(try server.respond(to: request([set])))
    let refused = try #require(answer.refused.last)
    #expect(refused.last == answer.confirmed)
    return try #require(Problem(document: refused.problem))
  }

  /// Asks until nothing more comes.
  package func pull() throws {
    for _ in 0..<100 {
      let answer = try sync()
      if answer.mustResend { try sync(complete: true) }
      if answer.parts.isEmpty, unsentAcks.isEmpty, wanted.isEmpty { return }
    }
    Issue.record("The device never comes to rest.")
  }

  package func apply(_ response: HTTPResponse) throws -> SyncAnswer {
    try #require(response.status == 200)
    let answer = try SyncAnswer(body: response.body)
    confirmed = answer.confirmed
    chain = answer.chain
    answers = max(answers, answer.confirmed)
    lastServerClock = max(lastServerClock ?? .zero, answer.clock)
    unsentAcks = []
    proof = answer.proof
    for (zone, proof) in answer.proofs { proofs[zone] = proof }
    wanted = answer.wanted
    for part in answer.parts {
      if part.isReset {
        records = records.filter { $0.value.zone != part.zone }
        set(part.zone, "")
        continue
      }
      #expect(part.from == acks[part.zone] ?? "")
      for change in try JSONValue(parsing: Array(response.body[part.changes])).elements ?? [] {
        apply(change, zone: part.zone)
      }
      set(part.zone, part.to)
    }
    for zone in answer.lost {
      records = records.filter { $0.value.zone != zone }
      acks[zone] = nil
      unsentAcks.append(.init(zone: zone, token: nil))
    }
    return answer
  }

  private func set(_ zone: String, _ token: String) {
    acks[zone] = token
    unsentAcks.append(.init(zone: zone, token: token))
  }

  private func apply(_ change: JSONValue, zone: String) {
    let key = "\(change["table"]?.stringValue ?? "") \(change["id"]?.stringValue ?? "")"
    if change["deleted"]?.boolValue == true {
      if records[key]?.zone == zone { records[key] = nil }
    } else {
      records[key] = AwaitingZone(
        zone: zone, rev: change["rev"]?.integerValue ?? 0, columns: change["columns"] ?? .null)
    }
  }

  // MARK: Looking

  package func column(_ table: String, _ id: String, _ column: String) -> JSONValue? {
    records["\(table) \(id)"]?.columns[column]
  }

  package func has(_ table: String, _ id: String) -> Bool { records["\(table) \(id)"] != nil }

  /// The records of a table.
  package func all(_ table: String) -> [JSONValue] {
    records.filter { $0.key.hasPrefix(table + " ") }.sorted { $0.key < $1.key }.map(\.value.columns)
  }

  /// Makes a list, and gives its id.
  package func makeList(_ title: String = "Groceries") throws -> String {
    let id = newID()
    try sync([.create("lists", id, ["title": .string(title)])])
    return id
  }

  /// Makes an item, and gives its id.
  package func makeItem(_ list: String, _ title: String = "Milk") throws -> String {
    let id = newID()
    try sync([.create("items", id, ["list_id": .string(list), "title": .string(title)])])
    return id
  }

  /// Makes another user a member of a list, who accepts where that takes the own word.
  package func share(_ list: String, with name: String, as role: Role = .editor) throws -> String {
    let id = try offer(list, to: name, as: role)
    try server.accept(id, by: name)
    return id
  }

  /// Makes another user a member of a list, as far as that takes no word of theirs.
  package func offer(_ list: String, to name: String, as role: Role = .editor) throws -> String {
    let id = newID()
    try sync([
      .create("members", id, ["zone": .string(list), "name": .string(name), "role": .string(role.rawValue)])
    ])
    return id
  }
}
