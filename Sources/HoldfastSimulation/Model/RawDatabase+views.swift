import HoldfastCore

/// The model's views of both kinds of databases.
extension RawDatabase {
  /// The prefix of the server's names for removed tables and columns.
  private static let removed = "holdfast_removed_"

  /// A device's records, and its unsent and refused edits.
  ///
  /// - Parameter tables: all tables of the schema, including `members` and `conflicts`.
  func deviceView(tables: [String]) throws -> DeviceView {
    try atOnce {
      var view = DeviceView()
      view.tables = try records(of: tables)
      view.outbox = try rows("SELECT body FROM holdfast_outbox ORDER BY first").map { Self.text($0[0]) }
      view.quarantine = try rows("SELECT n, body, problem FROM holdfast_quarantine ORDER BY n").map {
        DeviceView.Quarantined(number: $0[0].number ?? 0, body: Self.text($0[1]), problem: Self.text($0[2]))
      }
      view.edits = try rows(
        "SELECT record_table, id, kind, column_name, base, change_set IS NULL FROM holdfast_edits ORDER BY n"
      )
      .map {
        DeviceView.Edit(
          key: RecordKey(table: Self.text($0[0]), id: Self.text($0[1])), kind: Self.text($0[2]),
          column: Schemas.firstName(of: Self.text($0[3])), base: $0[4], isLoose: $0[5] == .integer(1))
      }
      for zone in try rows("SELECT zone, token, ack, role, resync FROM holdfast_zones") {
        view.zones[Self.text(zone[0])] = DeviceView.Zone(
          token: Self.text(zone[1]), ack: zone[2].string, role: Self.text(zone[3]),
          isResync: Self.text(zone[4]) == "replaced")
      }
      view.recovered = try rows("SELECT count(*) FROM holdfast_recovered")[0][0].number ?? 0
      view.held = try rows("SELECT zone FROM holdfast_awaiting_recovery ORDER BY zone").map {
        Self.text($0[0])
      }
      return view
    }
  }

  /// The records of tables.
  func records(of tables: [String]) throws -> Tables {
    var found: Tables = [:]
    for table in tables {
      try records(of: table) { key, row, _, _ in found[key] = row }
    }
    return found
  }

  /// The deletions that a device remembers, with their times in milliseconds since 1970.
  func rememberedDeletions() throws -> [RecordKey: Int64] {
    try rows("SELECT record_table, id, at FROM holdfast_deleted").reduce(into: [:]) {
      $0[RecordKey(table: Self.text($1[0]), id: Self.text($1[1]))] = $1[2].number
    }
  }

  /// The server's records, tombstones and counters.
  ///
  /// - Parameter tables: all tables of the schema, including `members` and `conflicts`.
  func serverView(tables: [String]) throws -> ServerView {
    try atOnce {
      var view = ServerView()
      for table in tables {
        try records(of: table) { key, row, seq, kept in
          view.tables[key] = row
          view.seqs[key] = seq
          view.kept.formUnion(kept)
        }
      }
      let removed = try rows(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE '\(Self.removed)%'")
      for table in removed {
        for cell in try rows("SELECT * FROM \"\(Self.text(table[0]))\"").joined() {
          view.kept.formUnion(cell.tokens)
        }
      }
      view.tombstones = try rows(
        "SELECT record_table, id, zone, seq, rev, departed, stamp FROM holdfast_tombstones ORDER BY zone, seq"
      ).map {
        ServerView.Tombstone(
          key: RecordKey(table: Self.text($0[0]), id: Self.text($0[1])), zone: Self.text($0[2]),
          seq: $0[3].number ?? 0, rev: $0[4].number ?? 0, at: ($0[6].number ?? 0) >> 16,
          isDeparture: $0[5].number == 1)
      }
      for zone in try rows("SELECT zone, seq, purged FROM holdfast_zones") {
        view.zones[Self.text(zone[0])] = ServerView.Zone(
          seq: zone[1].number ?? 0, purged: zone[2].number ?? 0)
      }
      for device in try rows("SELECT number, confirmed FROM holdfast_devices") {
        view.confirmed[device[0].number ?? 0] = device[1].number ?? 0
      }
      return view
    }
  }

  /// The records of a table. Nulls are left out, so that an added column is no change. `seq` and the column stamps are no part of a
  /// record's content.
  ///
  /// - Parameter body: also receives the tokens of removed columns.
  private func records(
    of table: String, _ body: (RecordKey, Row, _ seq: Int64, _ kept: [Int]) -> Void
  ) throws {
    try each("SELECT * FROM \"\(table)\"") { names, statement in
      var row = Row()
      var id = ""
      var seq: Int64 = 0
      var kept: [Int] = []
      for (index, name) in names.enumerated() {
        switch name {
        case "id": id = Self.text(Self.cell(statement, index))
        case "seq": seq = Self.cell(statement, index).number ?? 0
        case "stamps": continue
        case _ where name.hasPrefix(Self.removed): kept += Self.cell(statement, index).tokens
        default:
          let cell = Self.cell(statement, index)
          if cell != .null { row[Schemas.firstName(of: name)] = cell }
        }
      }
      // A conflict names a column.
      if let column = row["column_name"]?.string { row["column_name"] = .text(Schemas.firstName(of: column)) }
      body(RecordKey(table: table, id: id), row, seq, kept)
    }
  }

  /// A text, or the text in a blob.
  private static func text(_ cell: Cell) -> String {
    switch cell {
    case .text(let text): text
    case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
    default: ""
    }
  }
}
