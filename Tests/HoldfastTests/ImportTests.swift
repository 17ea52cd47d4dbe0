import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Importing the records of another file")
struct ImportTests {
  /// Another program's file, which goes with the test.
  private final class OtherFile: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("other-\(UUID().uuidString).db")
      .path

    init(_ statements: [String]) throws {
      let connection = try SQLiteConnection(path: path)
      for statement in statements { try connection.run(statement) }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static let tables = [
    "CREATE TABLE lists(id INTEGER PRIMARY KEY, title TEXT)",
    "CREATE TABLE items(id INTEGER PRIMARY KEY, listID INTEGER, title TEXT, done INTEGER, afterId INTEGER, colour TEXT)",
    "INSERT INTO lists VALUES (1, 'Groceries'), (2, 'Work')",
    "INSERT INTO items VALUES (1, 1, 'Milk', 1, 2, 'white'), (2, 1, 'Bread', 0, NULL, NULL), (3, 2, 'Report', 0, 1, NULL)",
  ]

  private func titles(_ device: Fixture) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM items ORDER BY title") }
  }

  @Test("records come with their references, whatever their order; what the schema does not have is named")
  func whole() async throws {
    let device = try Fixture()
    let file = try OtherFile(Self.tables)
    let report = try await device.store.importRecords(from: file.path, namespace: "ann")
    #expect(report.created == 5)
    #expect(report.problems.isEmpty)
    #expect(report.ignored == ["items.colour"])
    let rows = try await device.store.read {
      try $0.rows(
        "SELECT items.title, lists.title, before.title, items.done FROM items JOIN lists ON lists.id = items.list_id LEFT JOIN items AS before ON before.id = items.after_id ORDER BY items.title"
      ).rows
    }
    #expect(
      rows == [
        ["Bread", "Groceries", nil, 0], ["Milk", "Groceries", "Bread", 1], ["Report", "Work", "Milk", 0],
      ])
  }

  @Test("of a file of this library comes what its user owned, by its ids, and what was not sent (I2, I10)")
  func deviceFile() async throws {
    let old = try Fixture()
    try await old.signIn()
    try await old.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk")))
    let zone = { (zone: String, role: String, changes: String) in
      #""zones":[{"zone":"\#(zone)","role":"\#(role)","from":"","to":"0000000b.2","more":false,"remaining":0,"changes":[\#(changes)]}]"#
    }
    let (list, word) = (
      #"{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Of Bob"}}"#,
      #"{"table":"words","id":"\#(UUID().uuidString.lowercased())","rev":1,"seq":1,"columns":{"text":"ant"}}"#
    )
    try await old.answer(zone(IDs.other, "editor", list))
    try await old.answer(zone("dictionary", "viewer", word))
    try await old.store.write {
      try $0.execute(
        "INSERT INTO items (id, list_id, title) VALUES (?, ?, 'Tea'), (?, ?, 'Of Bob')",
        [IDs.list, IDs.list, IDs.other, IDs.other].map { .text($0) })
    }
    let device = try Fixture()
    let report = try await device.store.importRecords(from: old.path, namespace: "ann")
    #expect(report.created == 3 && report.ignored.isEmpty)
    #expect(report.problems.map(\.table).sorted() == ["items", "lists"])
    #expect(report.problems.allSatisfy { $0.key == IDs.other && $0.isLeftOut })
    #expect(try await titles(device) == ["Milk", "Tea"])
    #expect(try await device.store.read { try $0.find(Item.self, id: IDs.item) }?.list_id == IDs.list)
    #expect(try await device.value("SELECT count(*) FROM words") == 0)
  }

  @Test("an import that is repeated writes nothing, and what the app changed since stays (I3)")
  func repeated() async throws {
    let device = try Fixture()
    let file = try OtherFile(Self.tables)
    try await device.store.importRecords(from: file.path, namespace: "ann")
    try await device.store.write {
      try $0.execute("UPDATE items SET title = 'Oat milk' WHERE title = 'Milk'")
    }
    let waiting = try await device.store.waitingOperations()
    let report = try await device.store.importRecords(from: file.path, namespace: "ann")
    #expect(report.kept == 5)
    #expect(report.created + report.updated == 0)
    #expect(try await device.store.waitingOperations() == waiting)
    #expect(try await titles(device) == ["Bread", "Oat milk", "Report"])
  }

  @Test("an import that updates writes the columns that differ, and no others")
  func updating() async throws {
    let device = try Fixture()
    let file = try OtherFile(Self.tables)
    try await device.store.importRecords(from: file.path, namespace: "ann")
    let connection = try SQLiteConnection(path: file.path)
    try connection.run("UPDATE items SET title = 'Soy milk' WHERE id = 1")
    let report = try await device.store.importRecords(from: file.path, namespace: "ann", updating: true)
    #expect(report.updated == 1)
    #expect(report.kept == 4)
    #expect(try await titles(device) == ["Bread", "Report", "Soy milk"])
  }

  @Test("two devices give a record one id, two namespaces different ones (I7)")
  func ids() async throws {
    let devices = [try Fixture(), try Fixture(), try Fixture()]
    let file = try OtherFile(Self.tables)
    var ids: [[String]] = []
    for (device, namespace) in zip(devices, ["ann", "ann", "bob"]) {
      try await device.store.importRecords(from: file.path, namespace: namespace)
      ids.append(
        try await device.store.read { try $0.fetch(String.self, "SELECT id FROM items ORDER BY title") })
    }
    #expect(ids[0] == ids[1])
    #expect(TextSet(ids[0]).isDisjoint(with: ids[2]))
  }

  @Test("a key that is a UUID stays the id, as text and as bytes")
  func keptKeys() async throws {
    let device = try Fixture()
    let file = try OtherFile([
      "CREATE TABLE lists(uuid TEXT PRIMARY KEY, title TEXT)",
      "CREATE TABLE items(id TEXT PRIMARY KEY, list_id BLOB, title TEXT)",
      "INSERT INTO lists VALUES ('6BA7B810-9DAD-41D1-80B4-00C04FD430C8', 'Groceries')",
      "INSERT INTO items VALUES ('6ba7b811-9dad-41d1-80b4-00c04fd430c8', x'6ba7b8109dad41d180b400c04fd430c8', 'Milk')",
    ])
    #expect(try await device.store.importRecords(from: file.path, namespace: "ann").created == 2)
    let row = try await device.store.read { try $0.rows("SELECT id, list_id FROM items").rows.first }
    #expect(
      row == ["6ba7b811-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"])
  }

  @Test("of two keys that are one UUID but for capital letters, the second is left out and named (I3)")
  func capitals() async throws {
    let device = try Fixture()
    let (small, capital) = ("6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6BA7B810-9DAD-41D1-80B4-00C04FD430C8")
    let file = try OtherFile([
      "CREATE TABLE lists(uuid TEXT PRIMARY KEY, title TEXT)",
      "INSERT INTO lists VALUES ('\(small)', 'Groceries'), ('\(capital)', 'Work')",
    ])
    for (isUpdating, created) in [(false, 1), (true, 0)] {
      let report = try await device.store.importRecords(
        from: file.path, namespace: "ann", updating: isUpdating)
      #expect(report.created == created && report.updated == 0)
      #expect(report.problems.map(\.key) == [capital])
      #expect(report.problems.first?.isLeftOut == true)
      #expect(report.problems.first?.reason.contains(small) == true)
      #expect(
        try await device.store.read { try $0.fetch(String.self, "SELECT title FROM lists") } == ["Groceries"])
    }
    // Nor does the deletion of one delete the other; a key that comes twice is the same record.
    var records = RecordImport(into: device.store, namespace: "ann", isUpdating: true)
    try await records.add([ImportedRecord(table: "lists", key: small, columns: ["title": .text("Food")])])
    try await records.add([ImportedRecord(table: "lists", key: capital, isDeleted: true)])
    try await records.add([ImportedRecord(table: "lists", key: small, columns: ["title": .text("Food")])])
    let report = try await records.finish()
    #expect((report.updated, report.kept, report.deleted) == (1, 1, 0))
  }

  @Test("what the schema forbids is left out with its reason, and all others come (I12)")
  func problems() async throws {
    let device = try Fixture()
    let file = try OtherFile(
      Self.tables + [
        "INSERT INTO lists VALUES (3, NULL), (4, '\(String(repeating: "x", count: 201))')",
        "INSERT INTO items VALUES (4, 9, 'Lost', 0, NULL, NULL), (5, 1, 'Bread', 0, NULL, NULL), (6, 2, 'Odd', 7, 99, NULL)",
      ])
    let report = try await device.store.importRecords(from: file.path, namespace: "ann")
    #expect(report.created == 6)
    let left = report.problems.filter { $0.isLeftOut }.map { "\($0.table) \($0.key)" }
    #expect(left.sorted() == ["items 4", "items 5", "lists 3", "lists 4"])
    let incomplete = report.problems.filter { !$0.isLeftOut }.map { "\($0.table) \($0.key)" }
    #expect(incomplete == ["items 6", "items 6"])
    #expect(try await titles(device) == ["Bread", "Milk", "Odd", "Report"])
  }

  @Test(
    "numbers decide the order of a list, alike on each device, and a circle of references comes whole (I7)"
  )
  func ordered() async throws {
    let schema = try SyncSchema(
      name: "test",
      tables: [
        TableSchema(
          "steps", zone: .user,
          columns: [
            ColumnSchema("title", .text), ColumnSchema("position", .position, required: true),
            ColumnSchema("next_id", .reference, reference: Reference(to: "steps", onDelete: .setNull)),
          ])
      ])
    let device = try Fixture(schema: schema)
    let file = try OtherFile([
      "CREATE TABLE steps(id INTEGER PRIMARY KEY, title TEXT, position REAL, next_id INTEGER)",
      "INSERT INTO steps VALUES (1, 'c', 3, 2), (2, 'a', 0.5, 1), (3, 'b', 1, 3), (4, 'd', NULL, NULL)",
    ])
    let report = try await device.store.importRecords(from: file.path, namespace: "ann")
    #expect(report.created == 4)
    #expect(report.problems.isEmpty)
    let titles = try await device.store.read {
      try $0.fetch(String.self, "SELECT title FROM steps ORDER BY position, id")
    }
    #expect(titles == ["a", "b", "c", "d"])
    let next = try await device.store.read {
      try $0.fetch(
        String.self,
        "SELECT next.title FROM steps JOIN steps AS next ON next.id = steps.next_id ORDER BY steps.title")
    }
    #expect(next == ["c", "b", "a"])
    let other = try Fixture(schema: schema)
    try await other.store.importRecords(from: file.path, namespace: "ann")
    let query = "SELECT id, position FROM steps ORDER BY id"
    let rows = try await device.store.read { try $0.rows(query).rows }
    #expect(try await other.store.read { try $0.rows(query).rows } == rows)
  }

  @Test(
    "records of two tables that refer to each other keep both references, and what is nowhere is named (I7)")
  func circle() async throws {
    func reference(_ table: String) -> ColumnSchema {
      ColumnSchema("\(table)_id", .reference, reference: Reference(to: table, onDelete: .setNull))
    }
    let device = try Fixture(
      schema: SyncSchema(
        name: "test",
        tables: [
          TableSchema("maps", zone: .user, columns: [reference("nodes")]),
          TableSchema("nodes", zone: .user, columns: [reference("maps"), reference("nodes")]),
        ]))
    let file = try OtherFile([
      "CREATE TABLE maps(id TEXT PRIMARY KEY, nodes_id TEXT)",
      "CREATE TABLE nodes(id TEXT PRIMARY KEY, maps_id TEXT, nodes_id TEXT)",
      "INSERT INTO maps VALUES ('M1', 'N1'), ('M2', 'N9')",
      "INSERT INTO nodes VALUES ('N1', 'M1', NULL), ('N4', NULL, 'N5'), ('N5', NULL, 'N4')",
    ])
    let report = try await device.store.importRecords(from: file.path, namespace: "ann")
    #expect(report.created == 5)
    #expect(report.problems.map { "\($0.table) \($0.key) \($0.isLeftOut)" } == ["maps M2 false"])
    for (sql, count) in [
      ("SELECT count(*) FROM maps JOIN nodes ON nodes.id = maps.nodes_id AND nodes.maps_id = maps.id", 1),
      ("SELECT count(*) FROM nodes AS a JOIN nodes AS b ON b.id = a.nodes_id AND a.id = b.nodes_id", 2),
    ] {
      #expect(try await device.value(sql) == .integer(Int64(count)))
    }
    let again = try await device.store.importRecords(from: file.path, namespace: "ann", updating: true)
    #expect(again.updated == 0)
  }

  @Test("an import that updates leaves the order as people have it, and puts new records at the end (I3)")
  func orderKept() async throws {
    let device = try Fixture(
      schema: SyncSchema(
        name: "test",
        tables: [
          TableSchema(
            "steps", zone: .user,
            columns: [ColumnSchema("title", .text), ColumnSchema("position", .position, required: true)])
        ]))
    let file = try OtherFile([
      "CREATE TABLE steps(id INTEGER PRIMARY KEY, title TEXT, position INTEGER)",
      "INSERT INTO steps VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3)",
    ])
    try await device.store.importRecords(from: file.path, namespace: "ann")
    let repeated = try await device.store.importRecords(from: file.path, namespace: "ann", updating: true)
    #expect(repeated.updated == 0)
    try await device.store.write { db in
      let last = try db.fetch(String.self, "SELECT position FROM steps WHERE title = 'c'").first
      let place = try db.position(after: last, before: nil)
      try db.execute("UPDATE steps SET position = ? WHERE title = 'a'", [.text(place)])
    }
    let connection = try SQLiteConnection(path: file.path)
    try connection.execute("UPDATE steps SET title = 'B' WHERE id = 2; INSERT INTO steps VALUES (4, 'd', 0)")
    let report = try await device.store.importRecords(from: file.path, namespace: "ann", updating: true)
    #expect(report.updated == 1)
    #expect(report.created == 1)
    let titles = try await device.store.read {
      try $0.fetch(String.self, "SELECT title FROM steps ORDER BY position, id")
    }
    #expect(titles == ["B", "c", "a", "d"])
  }

  @Test("a view gives tables and columns other names; without an id it is refused")
  func views() async throws {
    let device = try Fixture()
    let file = try OtherFile([
      "CREATE TABLE ZLIST(Z_PK INTEGER PRIMARY KEY, ZTITLE TEXT)",
      "INSERT INTO ZLIST VALUES (1, 'Groceries')",
      "CREATE VIEW lists AS SELECT Z_PK AS id, ZTITLE AS title FROM ZLIST",
    ])
    #expect(try await device.store.importRecords(from: file.path, namespace: "ann").created == 1)
    let connection = try SQLiteConnection(path: file.path)
    try connection.run("DROP VIEW lists")
    try connection.run("CREATE VIEW lists AS SELECT ZTITLE AS title FROM ZLIST")
    await #expect(throws: StoreError.self) {
      try await device.store.importRecords(from: file.path, namespace: "ann")
    }
  }

  @Test(
    "values of other databases take the form of their column, or none",
    arguments: [
      (.timestamp, "2026-01-02 10:00:00.5", "2026-01-02T10:00:00.500Z"),
      (.timestamp, "2026-01-02", "2026-01-02T00:00:00.000Z"),
      (.timestamp, "2026-01-02T10:00:00+02:00", "2026-01-02T08:00:00.000Z"),
      (.timestamp, "2026-01-02T10:00:00.1234567Z", "2026-01-02T10:00:00.123Z"),
      (.timestamp, 1, "1970-01-01T00:00:01.000Z"), (.timestamp, 0.25, "1970-01-01T00:00:00.250Z"),
      (.timestamp, 1_700_000_000_000, nil), (.timestamp, -62_167_219_201, nil),
      (.timestamp, "2026-01-02T10:00:00+99:99", nil),
      (.timestamp, 253_402_300_799, "9999-12-31T23:59:59.000Z"),
      (.timestamp, "2026-02-30", nil), (.timestamp, "yesterday", nil), (.timestamp, .real(1e300), nil),
      (.boolean, 1, 1), (.boolean, "true", 1), (.boolean, 2, nil), (.integer, 3.0, 3), (.integer, 3.5, nil),
      (.integer, "12", 12), (.real, 3, 3.0), (.real, "nan", nil), (.text, 5, "5"),
      (.text, .blob([104, 105]), "aGk="), (.json, "{ \"a\": 1 }", "{\"a\":1}"), (.json, "{", nil),
      (.json, .blob([1]), nil),
    ] as [(ColumnType, SQLiteValue, SQLiteValue?)])
  func values(_ type: ColumnType, _ value: SQLiteValue, _ stored: SQLiteValue?) {
    #expect(ImportedValue.convert(value, for: ColumnSchema("c", type)) == stored)
  }

  @Test(
    "names are matched in the form of a schema",
    arguments: [
      ("listID", "list_id"), ("ListItem", "list_item"), ("URLPath", "url_path"), ("Z_PK", "z_pk"),
      ("a1B", "a1_b"),
    ])
  func names(_ name: String, _ plain: String) {
    #expect(ImportedName.snakeCase(name) == plain)
  }
}
