import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// What a device holds after writes by SQL is what it holds after the same writes by the API.
@Suite struct AgreementTests {
  /// What the two ways have in common: a server with a user who has two lists, L and M.
  private struct Side {
    let server: TestServer
    let device: TestDevice
    let sql: SQLWriter

    init() throws {
      server = try TestServer(engine: .postgres)
      device = try server.signUp("ann")
      sql = try SQLWriter(server)
      try device.sync(
        [
          .create("lists", AgreementTests.list, ["title": "one"]),
          .create("lists", AgreementTests.other, ["title": "two"]),
        ])
      try device.pull()
    }

    /// The records on the device, without those whose ids the server makes.
    func held() throws -> TextMap<AwaitingZone> {
      try device.pull()
      let findings = try server.findings()
      #expect(findings == [])
      return device.records.filter { !$0.key.hasPrefix("members") }
    }
  }

  private static let list = "019a0000-0000-7000-8000-000000000001"
  private static let other = "019a0000-0000-7000-8000-000000000002"
  private static func id(_ number: Int) -> String { "019a0000-0000-7000-8000-0000000001\(10 + number)" }

  private func compare(_ sql: [String], _ sets: [[Sent]]) throws {
    let (written, sent) = (try Side(), try Side())
    for statement in sql { try written.sql.run(statement) }
    for set in sets { try sent.device.sync(set) }
    let (left, right) = (try written.held(), try sent.held())
    #expect(left.count == right.count)
    for (key, record) in right { #expect(left[key] == record, "\(key)") }
  }

  @Test("records that are created and updated") func createsAndUpdates() throws {
    try compare(
      [
        """
        INSERT INTO items (id, list_id, title, done, amount) VALUES ('\(Self.id(1))', '\(Self.list)', 'Milk', false, 3),
          ('\(Self.id(2))', '\(Self.list)', 'Bread', true, NULL)
        """,
        "UPDATE items SET title = 'Oat milk', note = 'x' WHERE id = '\(Self.id(1))'",
        "UPDATE items SET done = true",
      ],
      [
        [
          .create(
            "items", Self.id(1), ["list_id": .string(Self.list), "title": "Milk", "done": false, "amount": 3]),
          .create("items", Self.id(2), ["list_id": .string(Self.list), "title": "Bread", "done": true]),
        ], [.update("items", Self.id(1), ["title": "Oat milk", "note": "x"], rev: 1)],
        [.update("items", Self.id(1), ["done": true], rev: 2)],
      ])
  }

  @Test("records that are deleted, with those under them and references that become null") func deletes()
    throws
  {
    let tag = Self.id(5)
    let creates: [Sent] = [
      .create("tags", tag, ["list_id": .string(Self.list), "name": "dairy"]),
      .create(
        "items", Self.id(1),
        ["list_id": .string(Self.list), "title": "Milk", "done": false, "tag_id": .string(tag)]),
      .create("items", Self.id(2), ["list_id": .string(Self.other), "title": "Bread", "done": false]),
    ]
    try compare(
      [
        """
        INSERT INTO tags (id, list_id, name) VALUES ('\(tag)', '\(Self.list)', 'dairy');
        INSERT INTO items (id, list_id, title, tag_id) VALUES ('\(Self.id(1))', '\(Self.list)', 'Milk', '\(tag)'),
          ('\(Self.id(2))', '\(Self.other)', 'Bread', NULL);
        DELETE FROM tags; DELETE FROM lists WHERE id = '\(Self.other)'
        """
      ], [creates, [.delete("tags", tag)], [.delete("lists", Self.other)]])
  }

  @Test("a record that moves with what is under it, and one that is restored") func moves() throws {
    try compare(
      [
        """
        INSERT INTO items (id, list_id, title) VALUES ('\(Self.id(1))', '\(Self.list)', 'Milk'), ('\(Self.id(2))', '\(Self.list)', 'Tea');
        INSERT INTO seals (id, item_id) VALUES ('\(Self.id(3))', '\(Self.id(1))');
        UPDATE items SET list_id = '\(Self.other)' WHERE id = '\(Self.id(1))';
        DELETE FROM items WHERE id = '\(Self.id(2))';
        INSERT INTO items (id, list_id, title) VALUES ('\(Self.id(2))', '\(Self.list)', 'Tea again')
        """
      ],
      [
        [
          .create("items", Self.id(1), ["list_id": .string(Self.list), "title": "Milk", "done": false]),
          .create("items", Self.id(2), ["list_id": .string(Self.list), "title": "Tea", "done": false]),
          .create("seals", Self.id(3), ["item_id": .string(Self.id(1))]),
        ], [.update("items", Self.id(1), ["list_id": .string(Self.other)])], [.delete("items", Self.id(2))],
        [
          .create(
            "items", Self.id(2), ["list_id": .string(Self.list), "title": "Tea again", "done": false],
            at: Stamp(milliseconds: 2000))
        ],
      ])
  }

  @Test("an edit on a device after one by SQL is concurrent, as with any other device's (I3)") func conflict()
    throws
  {
    let side = try Side()
    let item = try side.device.makeItem(Self.list)
    try side.device.pull()
    try side.sql.run("UPDATE items SET title = 'By SQL', note = 'kept' WHERE id = '\(item)'")
    try side.device.sync([.update("items", item, ["title": "By hand"], rev: 1, base: ["title": "Milk"])])
    try side.device.pull()
    // The database's clock is that of the world, and the edit's stamp is of long ago: SQL wins, and both are logged.
    #expect(side.device.column("items", item, "title") == "By SQL")
    #expect(side.device.column("items", item, "note") == "kept")
    #expect(side.device.all("conflicts").map { $0["loser_value"] } == ["By hand"])
    let findings = try side.server.findings()
    #expect(findings == [])
  }

  @Test("a member who is made or goes by SQL gains and loses the zone (I10)") func members() throws {
    let side = try Side()
    let bob = try side.server.signUp("bob")
    try side.sql.run(
      "INSERT INTO holdfast.members (zone, name, role) VALUES ('\(Self.list)', 'bob', 'viewer')")
    try bob.pull()
    #expect(bob.has("lists", Self.list))
    try side.sql.run("DELETE FROM holdfast.members WHERE name = 'bob' AND zone = '\(Self.list)'")
    try bob.pull()
    #expect(!bob.has("lists", Self.list))
    let findings = try side.server.findings()
    #expect(findings == [])
  }

  @Test("JSON and texts that no device could have sent reach the devices all the same (I12)") func strange()
    throws
  {
    let schema = try SyncSchema(
      json: Array(
        """
        {"holdfast": 1, "name": "strange", "tables": {"words": {"zone": {"public": "catalogue"}, "columns": {
          "text": {"type": "text", "max_length": 3}, "data": {"type": "json"}}}}}
        """.utf8))
    let server = try TestServer(schema, engine: .postgres)
    let device = try server.signUp("ann")
    device.unsentAcks.append(.init(zone: "catalogue", token: ""))
    let sql = try SQLWriter(server)
    try sql.run(
      #"INSERT INTO words (id, text, data) VALUES ('w1', 'too long', '{"a": 1, "a": 2}'), ('w2', 'ok', '[1]')"#
    )
    device.acks["catalogue"] = ""
    try device.pull()
    #expect(device.column("words", "w1", "text") == "too long")
    #expect(device.column("words", "w1", "data") == #"{"a": 1, "a": 2}"#)
    #expect(device.column("words", "w2", "data") == [1])
  }
}
