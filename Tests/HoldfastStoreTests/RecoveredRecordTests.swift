import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// What a restored server takes of the records that devices recover, and how much at a time. Invariants I10, I12; docs/RESTORING.md, section 4.
@Suite struct RecoveredRecordTests {
  let server: TestServer
  let alice: TestDevice
  let bob: TestDevice
  let list: String
  let item: String

  init() throws {
    try self.init(TestServer.schema()) { alice, list in try alice.makeItem(list) }
  }

  /// - Parameter fill: fills the list, and gives the id of an item.
  private init(
    _ schema: SyncSchema, fill: (TestDevice, _ list: String) throws -> String
  ) throws {
    let before = try TestServer(schema)
    alice = try before.signUp("alice")
    bob = try before.signUp("bob")
    list = try alice.makeList()
    item = try fill(alice, list)
    _ = try alice.share(list, with: "bob")
    for device in [alice, bob] { try device.pull() }
    server = try before.restored(schema: schema)
    for device in [alice, bob] {
      device.server = server
      try device.sync(complete: true)
      try device.pull()
    }
  }

  private func recover(_ device: TestDevice, _ items: [JSONValue]) throws -> SyncAnswer {
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(device.answers), "digest": .string(device.digest),
      "recovered": .array(items),
    ]
    return try device.apply(try server.post("/v1/sync", body, token: device.token))
  }

  private func codes(_ answer: SyncAnswer) throws -> [ProblemCode] {
    try #require(answer.recovered).refused.compactMap { Problem(document: $0.problem)?.code }
  }

  private func item(_ id: String, _ title: String, rev: Int64, tag: JSONValue = .null) -> JSONValue {
    [
      "table": "items", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": ["list_id": .string(list), "title": .string(title), "tag_id": tag],
    ]
  }

  // MARK: Revs

  @Test(
    "a recovered rev that leaves no room for edits is refused, alone; with the greatest one a record lives on (I12)"
  )
  func revs() throws {
    let (far, near) = (bob.newID(), bob.newID())
    let greatest = RecoveredRecord.greatestRev
    let answer = try recover(
      bob,
      [
        item(far, "Far", rev: greatest + 1), item(item, "Far", rev: 4_611_686_018_427_387_902),
        item(near, "Near", rev: greatest),
      ])
    #expect(try codes(answer) == [.invalidValue, .invalidValue])
    try alice.pull()
    #expect(!alice.has("items", far) && alice.records["items \(near)"]?.rev == greatest)
    #expect(alice.records["items \(item)"]?.rev == 1)
    #expect(try alice.sync([.update("items", near, ["title": "Here"], rev: greatest)]).refused.isEmpty)
    try bob.pull()
    #expect(bob.records["items \(near)"]?.rev == greatest + 1)
    #expect(greatest < 1 << 50)
    #expect(try alice.sync([.delete("items", near)]).refused.isEmpty)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "a record with the greatest rev that a database takes is changed, restored and deleted, and its owner erased (I12)"
  )
  func saturated() throws {
    let other = try alice.makeItem(list, "Other")
    let most = "4611686018427387904"
    try server.change(
      sqlite: "UPDATE items SET rev = \(most); UPDATE lists SET rev = \(most)",
      postgres: """
        BEGIN; SET LOCAL holdfast.service = 'on';
        UPDATE holdfast.records SET rev = \(most) WHERE record_table IN ('items', 'lists'); COMMIT
        """)
    try server.reopen()
    #expect(try bob.sync([.update("items", item, ["title": "Oat milk"])]).refused.isEmpty)
    #expect(try bob.sync([.delete("items", item)]).refused.isEmpty)
    let back = try RestClient(bob).send(
      "POST", "/v1/tables/items/\(item)/restore", ["columns": ["list_id": .string(list), "title": "Back"]])
    #expect(back.status == 200)
    #expect(try alice.sync([.delete("items", other)]).refused.isEmpty)
    // The zone is alice's alone, and goes with her.
    #expect(try RestClient(bob).send("DELETE", "/v1/zones/\(list)/membership").status == 204)
    #expect(
      try RestClient(alice).send("DELETE", "/v1/account", ["password": "correct horse"]).status == 204)
    for _ in 0..<10 { try server.inline?.purge() }
    let live = "SELECT count(*) FROM holdfast.records WHERE state = 0 AND record_table = 'items'"
    #expect(try server.integer("SELECT count(*) FROM items", live) == 0)
    #expect(try server.findings().isEmpty)
  }

  @Test("a recovered record of an app without a column leaves what the server has of it (I2)")
  func olderApp() throws {
    let test = try Self(TestServer.schema()) { alice, list in
      let item = try alice.makeItem(list)
      try alice.sync([.update("items", item, ["note": "Kept"])])
      return item
    }
    let record: JSONValue = [
      "table": "items", "id": .string(test.item), "zone": .string(test.list), "rev": 3,
      "columns": ["list_id": .string(test.list), "title": "Oat milk"],
    ]
    #expect(try test.codes(test.recover(test.bob, [record])).isEmpty)
    try test.alice.pull()
    #expect(test.alice.column("items", test.item, "title") == "Oat milk")
    #expect(test.alice.column("items", test.item, "note") == "Kept")
  }

  // MARK: Turns

  @Test(
    "recovered records take turns: the answer says how many were dealt with, and edits wait for the rest (I3, I12)"
  )
  func turns() throws {
    server.world.changeSetBudget.withLock { $0 = 2 }
    try server.reopen()
    let ids = (0..<5).map { _ in bob.newID() }
    // The third one is refused, so that they are taken one by one.
    func items(_ first: Int) -> [JSONValue] {
      ids.indices.dropFirst(first).map { index in
        item(ids[index], "Lost", rev: 1, tag: index == 2 ? .string(ids[2]) : .null)
      }
    }
    var (done, refused): (Int, [ProblemCode]) = (0, [])
    var counts: [Int64] = []
    while done < ids.count {
      let answer = try recover(bob, items(done))
      let recovered = try #require(answer.recovered)
      #expect(recovered.refused.allSatisfy { $0.index < recovered.count })
      refused += try codes(answer)
      counts.append(recovered.count)
      done += Int(recovered.count)
      if recovered.count == 0 { break }
    }
    #expect(counts == [2, 2, 1] && refused == [.referenceMissing])
    try alice.pull()
    #expect(ids.indices.filter { alice.has("items", ids[$0]) } == [0, 1, 3, 4])
    #expect(try server.findings().isEmpty)
  }

  @Test("change sets beside recovered records that wait stay unconfirmed (I3)")
  func setsWait() throws {
    server.world.changeSetBudget.withLock { $0 = 1 }
    try server.reopen()
    let ids = [bob.newID(), bob.newID()]
    let confirmed = bob.confirmed
    let edit = Sent.update("items", ids[1], ["title": "Mine"])
    func send(_ items: [JSONValue]) throws -> SyncAnswer {
      let request = bob.request([[edit]])
      guard case .object(let members) = try JSONValue(parsing: request.body) else { throw Unparsed() }
      let body = JSONValue.object(members + [.init("recovered", .array(items))])
      return try bob.apply(server.post("/v1/sync", body, token: bob.token))
    }
    let first = try send(ids.map { item($0, "Lost", rev: 1) })
    #expect(first.recovered?.count == 1 && first.confirmed == confirmed)
    let second = try send([item(ids[1], "Lost", rev: 1)])
    #expect(second.recovered?.count == 1 && second.confirmed == confirmed + 1 && second.refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", ids[1], "title") == "Mine")
  }

  private struct Unparsed: Error {}

  /// A list with more items than one transaction deletes.
  private static func large() throws -> Self {
    let schema = try SyncSchema(json: Array(DeletionPiecesTests.text.utf8))
    let test = try Self(schema) { alice, list in
      let ids = (0..<450).map { _ in alice.newID() }
      try alice.sync(ids.map { .create("items", $0, ["list_id": .string(list)]) })
      return ids[0]
    }
    test.server.world.pieceWork.withLock { $0 = 8000 }
    test.server.world.changeSetWork.withLock { $0 = 4000 }
    try test.server.reopen()
    return test
  }

  private var deletion: JSONValue {
    ["table": "lists", "id": .string(list), "zone": .string(list), "rev": 2, "deleted": true]
  }

  @Test("what is refused before a deletion that goes in pieces is said to be refused (I3)")
  func refusedBefore() throws {
    let test = try Self.large()
    let orphan: JSONValue = [
      "table": "items", "id": .string(test.bob.newID()), "zone": .string(test.list), "rev": 1,
      "columns": ["list_id": .string(test.bob.newID())],
    ]
    let answer = try test.recover(test.alice, [orphan, test.deletion])
    #expect(try answer.recovered?.count == 1 && test.codes(answer) == [.referenceMissing])
  }

  @Test("a recovered deletion of a record with many below it is done in pieces (I8, I12)")
  func pieces() throws {
    let test = try Self.large()
    let server = test.server
    var counts: [Int64] = []
    repeat {
      let answer = try test.recover(test.alice, [test.deletion])
      #expect(try test.codes(answer).isEmpty)
      counts.append(answer.recovered?.count ?? -1)
    } while counts.last == 0 && counts.count < 10
    #expect(counts == [0, 0, 1])
    try test.bob.pull()
    #expect(test.bob.all("lists").isEmpty && test.bob.all("items").isEmpty)
    #expect(try server.findings().isEmpty)
  }

  // MARK: Deletions of unknown records

  @Test("as long as one zone of a device is of the lost history, its deletions of unknown records wait (I8)")
  func unknownDeletion() throws {
    let before = try TestServer()
    let carl = try before.signUp("carl")
    for number in 0..<3 { _ = try carl.makeList("\(number)") }
    try carl.pull()
    carl.server = try before.restored()
    try carl.sync(complete: true)
    let acks = carl.unsentAcks.sorted { $0.zone < $1.zone }
    try #require(acks.count >= 4)
    // The last ack that is stored is the one that does not arrive.
    carl.unsentAcks = Array(acks.dropLast())
    #expect(
      try carl.refused(.delete("items", carl.newID()), .delete("items", carl.newID())).code == .recordUnknown)
    carl.unsentAcks = [acks[acks.count - 1]]
    #expect(try carl.sync([.delete("items", carl.newID())]).refused.isEmpty)
  }

  // MARK: Conflicts

  private func conflict(_ id: String, of record: String, by user: String, rev: Int64 = 1) -> JSONValue {
    [
      "table": "conflicts", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": [
        "record_table": "items", "record_id": .string(record), "column_name": "title", "policy": "latest",
        "winner_value": "Milk", "loser_value": "Poison", "winner_user": .string(alice.user),
        "winner_device": .string(alice.id), "winner_at": "2026-11-21T10:00:00.000Z",
        "loser_user": .string(user),
        "loser_device": "d", "loser_at": "2026-11-21T10:00:00.000Z",
      ],
    ]
  }

  @Test("a recovered conflict is about a record of its zone, and names users with access to it (I10)")
  func conflicts() throws {
    let hidden = try alice.makeItem(try alice.makeList("Hidden"), "Secret")
    let carl = try server.signUp("carl")
    let (forged, own) = (bob.newID(), bob.newID())
    #expect(
      try codes(recover(bob, [conflict(forged, of: hidden, by: bob.user)])) == [.referenceMissing])
    #expect(try codes(recover(bob, [conflict(own, of: item, by: carl.user)])).isEmpty)
    try alice.pull()
    #expect(!alice.has("conflicts", forged))
    #expect(alice.column("conflicts", own, "loser_user") == .null)
    #expect(alice.column("conflicts", own, "loser_device") == .null)
    #expect(alice.column("conflicts", own, "winner_user") == .string(alice.user))
    // Of one that is there nothing changes but the choice.
    #expect(try codes(recover(bob, [conflict(own, of: hidden, by: bob.user, rev: 9)])).isEmpty)
    try alice.pull()
    #expect(alice.column("conflicts", own, "record_id") == .string(item))
    #expect(try server.findings().isEmpty)
  }

  @Test("a value from the conflict log follows the rules of its column when it is taken")
  func taken() throws {
    for (value, status) in [("11", 422), ("\"x\"", 422), ("5", 200)] {
      let id = bob.newID()
      let conflict: JSONValue = [
        "table": "conflicts", "id": .string(id), "zone": .string(list), "rev": 1,
        "columns": [
          "record_table": "items", "record_id": .string(item), "column_name": "amount", "policy": "latest",
          "winner_value": .integer(1), "loser_value": try JSONValue(parsing: Array(value.utf8)),
        ],
      ]
      #expect(try codes(recover(bob, [conflict])).isEmpty)
      let reply = try RestClient(alice).send(
        "POST", "/v1/tables/conflicts/\(id)/resolve", ["take": "loser"])
      #expect(reply.status == status)
    }
    try alice.pull()
    #expect(alice.column("items", item, "amount") == 5)
  }

  // MARK: Other zones

  @Test("a recovered copy of a record that lives in a hidden zone leaves nothing that tells of it (I10)")
  func hidden() throws {
    let hidden = try alice.makeItem(try alice.makeList("Hidden"), "Secret")
    try alice.sync([.update("items", hidden, ["title": "Changed"])])
    _ = try recover(bob, [item(hidden, "Secret", rev: 1)])
    #expect(
      try server.integer(
        "SELECT count(*) FROM holdfast_tombstones WHERE id = '\(hidden)'",
        "SELECT count(*) FROM holdfast.records WHERE state > 0 AND id = '\(hidden)'") == 0)
    #expect(try server.findings().isEmpty)
  }
}
