import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import HoldfastSQLite
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastServer

/// Each value of each type reads back as it was, by every way: I7.
@Suite struct TypeTests {
  /// A value as SQL writes it, and as the wire has it.
  private typealias Sample = (sql: String, wire: JSONValue)

  /// What the wire has of the values that a column's type takes: its limits and ordinary ones. A type without samples does not compile.
  private static func samples(_ type: ColumnType, list: String) -> [JSONValue] {
    switch type {
    case .text: ["", "é e\u{301} \"\\ \u{1F600}", .string(String(repeating: "x", count: 3000))]
    case .integer: [0, .integer(.min), .integer(.max)]
    case .real:
      [
        .real(0.1), .real(-1.7976931348623157e308), .real(.leastNonzeroMagnitude),
        .real(1.7976931348623157e308), 0,
      ]
    case .boolean: [true, false]
    case .timestamp:
      ["2026-01-02T03:04:05.678Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]
    case .json: [["a": [1, .null, "é"]], [], "text", 7, false]
    case .reference: [.string(list)]
    case .position:
      [.string(Position.between(nil, nil, replica: Position.Replica(random: 7), nonce: 7).string)]
    }
  }

  /// The same of the types of adopted tables, with the type's name.
  private static func samples(_ kind: PostgresColumn.Kind) -> (type: String, samples: [Sample]) {
    let moments: [Sample] = [
      ("'2026-01-02 03:04:05.678'", "2026-01-02T03:04:05.678Z"), ("'infinity'", "9999-12-31T23:59:59.999Z"),
      ("'-infinity'", "0001-01-01T00:00:00.000Z"), ("'0001-01-01 BC'", "0001-01-01T00:00:00.000Z"),
    ]
    let documents: [Sample] = [("'{\"a\": [1, null]}'", ["a": [1, .null]]), ("'null'", .null), ("'7'", 7)]
    return switch kind {
    case .text: ("text", [("''", ""), ("'é \"'", "é \""), ("'x'", "x")])
    case .varchar: ("varchar(8)", [("'abc '", "abc ")])
    case .character: ("char(5)", [("'ab'", "ab")])
    case .citext: ("citext", [("'Ab'", "Ab")])
    case .uuid:
      ("uuid", [("'019A0000-0000-7000-8000-000000000001'", "019a0000-0000-7000-8000-000000000001")])
    case .enumeration: ("mood", [("'it''s fine'", "it's fine")])
    case .smallint: ("smallint", [("-32768", -32768), ("32767", 32767), ("0", 0)])
    case .integer: ("integer", [("-2147483648", -2_147_483_648), ("2147483647", 2_147_483_647)])
    case .bigint:
      ("bigint", [("'-9223372036854775808'", .integer(.min)), ("9223372036854775807", .integer(.max))])
    case .numeric:
      (
        "numeric",
        [("12.50", "12.50"), ("'NaN'", "NaN"), ("1e30", .string("1" + String(repeating: "0", count: 30)))]
      )
    case .real:
      (
        "real",
        [
          ("0.5", .real(0.5)), ("'3.4028235e38'", .real(3.4028235e38)),
          ("'-Infinity'", .real(-3.4028235e38)),
        ]
      )
    case .double:
      (
        "double precision",
        [
          ("0.1", .real(0.1)), ("'Infinity'", .real(1.7976931348623157e308)),
          ("'NaN'", .real(1.7976931348623157e308)),
        ]
      )
    case .boolean: ("boolean", [("true", true), ("false", false)])
    case .timestamptz: ("timestamptz", moments)
    case .timestamp: ("timestamp", moments)
    case .date:
      (
        "date",
        [
          ("'2026-01-02'", "2026-01-02T00:00:00.000Z"), ("'infinity'", "9999-12-31T00:00:00.000Z"),
          ("'5874897-01-01'", "9999-12-31T00:00:00.000Z"),
          ("'-infinity'", "0001-01-01T00:00:00.000Z"),
        ]
      )
    case .json: ("json", documents)
    case .jsonb: ("jsonb", documents)
    }
  }

  /// A value, so that numbers are equal which are the same.
  private static func canonical(_ value: JSONValue) -> JSONValue {
    if case .integer(let number) = value, let real = Double(exactly: number) { return .real(real) }
    return value
  }

  /// What a file of SQLite has of a column.
  private static func value(_ value: SQLiteValue, _ type: ColumnType) throws -> JSONValue {
    switch (value, type) {
    case (.null, _): .null
    case (.integer(let number), .boolean): .bool(number == 1)
    case (.integer(let number), _): .integer(number)
    case (.real(let number), _): .real(number)
    case (.text(let text), .json): try JSONValue(parsing: text)
    case (.text(let text), _): .string(text)
    case (.blob, _): .string("a blob")
    }
  }

  /// Looks at a record by every way.
  private func check(
    _ id: String, of zone: String, _ table: TableSchema, has expected: [(name: String, wire: JSONValue)],
    by device: TestDevice
  ) throws {
    let rest = try device.get("/v1/tables/\(table.name)/\(id)").body["columns"]
    let changes = try device.get("/v1/zones/\(zone)/changes").body["changes"]?.elements ?? []
    let change = changes.first { $0["id"]?.stringValue == id }?["columns"]
    let snapshot = try device.snapshot(zone)
    try #require(snapshot.status == 200, "\(String(decoding: snapshot.body, as: UTF8.self))")
    let file = try snapshot.opened()
    var exported: JSONValue?
    var next: String? = "/v1/account/export"
    while let target = next {
      let answer = try device.get(target)
      for line in String(decoding: answer.response.body, as: UTF8.self).split(separator: "\n") {
        let value = try JSONValue(parsing: String(line))
        if value["id"]?.stringValue == id { exported = value["columns"] }
      }
      next = answer.header("Link").map { String($0.dropFirst().prefix { $0 != ">" }) }
    }
    for (name, wire) in expected {
      let type = try #require(table.index(of: name).map { table.columns[$0].type })
      let stored = try #require(
        try file.value("SELECT \"\(name)\" FROM \"\(table.name)\" WHERE id = ?", [.text(id)]))
      let found: [(way: String, value: JSONValue?)] = [
        ("sync", device.column(table.name, id, name)), ("REST", rest?[name]), ("changes", change?[name]),
        ("snapshot", try Self.value(stored, type)), ("export", exported?[name]),
      ]
      for (way, value) in found {
        #expect(value.map(Self.canonical) == Self.canonical(wire), "\(name) by \(way)")
      }
    }
  }

  @Test(
    "values of tables of Holdfast's own, also their limits and NULL, by sync, REST, changes, snapshot and export"
  )
  func own() throws {
    let columns = ColumnType.allCases.map { type in
      "\"c_\(type.rawValue)\": {\"type\": \"\(type.rawValue)\"\(type == .reference ? ", \"to\": \"lists\", \"on_delete\": \"set_null\"" : "")}"
    }
    let schema = try SyncSchema(
      json: Array(
        """
        {"holdfast": 1, "name": "types", "tables": {
          "lists": {"zone": "root", "columns": {"title": {"type": "text"}}},
          "things": {"zone": {"parent": "list_id"}, "columns": {
            "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
            \(columns.joined(separator: ", "))}}}}
        """.utf8))
    let server = try TestServer(schema)
    let device = try server.signUp("ann")
    let list = try device.makeList()
    let table = try #require(schema.table("things"))
    let most = ColumnType.allCases.map { Self.samples($0, list: list).count }.max() ?? 0
    for index in 0...most {
      let values = ColumnType.allCases.map { type in
        let samples = Self.samples(type, list: list)
        return (name: "c_\(type.rawValue)", wire: index == most ? .null : samples[index % samples.count])
      }
      let id = device.newID()
      let members = values.map { JSONValue.Member($0.name, $0.wire) } + [.init("list_id", .string(list))]
      try device.sync([.create("things", id, .object(members))])
      try device.pull()
      try check(id, of: list, table, has: values, by: device)
    }
    #expect(try server.findings() == [])
  }

  @Test("values of a team's own types, also their limits and NULL, by the same ways, and written back")
  func adopted() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    try TemporaryPostgres.shared.psql(
      TemporaryPostgres.shared.superuserURL(of: url), "CREATE EXTENSION citext")
    let sql = try SQLWriter(url: url)
    let kinds = PostgresColumn.Kind.allCases.map { (name: "c_\($0.rawValue)", samples: Self.samples($0)) }
    try sql.run(
      """
      CREATE TYPE mood AS ENUM ('sad', 'it''s fine');
      CREATE TABLE things (id uuid PRIMARY KEY, \(kinds.map { "\($0.name) \($0.samples.type)" }.joined(separator: ", ")))
      """)
    let most = kinds.map(\.samples.samples.count).max() ?? 0
    func sample(_ kind: (name: String, samples: (type: String, samples: [Sample])), _ index: Int) -> Sample {
      index == most ? ("NULL", .null) : kind.samples.samples[index % kind.samples.samples.count]
    }
    let ids = (0...most).map { "019a0000-0000-7000-8000-00000000000\($0)" }
    for (index, id) in ids.enumerated() {
      let values = kinds.map { "CAST(\(sample($0, index).sql) AS \($0.samples.type))" }
      try sql.run("INSERT INTO things VALUES ('\(id)', \(values.joined(separator: ", ")))")
    }
    let adoption = Adoption(PostgresLocation(url))
    let schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    try adoption.apply(schema)
    let table = try #require(schema.table("things"))
    #expect(table.columns.count == kinds.count)
    let server = try TestServer(adopted: url, schema)
    let device = try server.signUp("ann")
    for id in ids {
      try sql.run("INSERT INTO holdfast.members (zone, name, role) VALUES ('\(id)', 'ann', 'owner')")
    }
    try device.pull()
    for (index, id) in ids.enumerated() {
      let values = kinds.map { (name: $0.name, wire: sample($0, index).wire) }
      try check(id, of: id, table, has: values, by: device)
      // What was read is written as a record of its own, and reads the same.
      let copy = device.newID()
      let answer = try device.sync([
        .create("things", copy, .object(values.map { JSONValue.Member($0.name, $0.wire) }))
      ])
      #expect(
        answer.refused.isEmpty, "\(answer.refused.map { String(decoding: $0.problem, as: UTF8.self) })")
      try device.pull()
      try check(copy, of: copy, table, has: values, by: device)
    }
    #expect(try server.findings() == [])
  }
}
