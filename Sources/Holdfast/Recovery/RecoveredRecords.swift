import HoldfastCore
import HoldfastSQLite

/// Sends again to a restored server the records that it has lost. See docs/RESTORING.md, section 4.
struct RecoveredRecords {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var zones: Zones { Zones(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }

  // MARK: Noting

  /// Notes the record of an arriving change, or its deletion, when what is known here is later; a record also when it is something else: which of
  /// its edits the server has had is for the server to tell.
  ///
  /// - Parameters:
  ///   - zone: where the change arrives.
  ///   - values: the values that arrive, in the order of the table's columns.
  /// - Returns: whether what is here stays as it is, as it is later.
  func noteIfLater(
    _ table: Int, _ id: String, in zone: String, than rev: Int64, _ writable: Set<Int>,
    values: () throws -> [Value]
  ) throws -> Bool {
    if let known = try rebase.history(table, id).base {
      let isNoted = try known.rev > rev || self.values(of: known, table) != values()
      return try isNoted && note(table, id, known, writable, arrivedIn: zone) && known.rev > rev
    }
    let deletion = try connection.row(
      "SELECT rev, zone FROM holdfast_deleted WHERE record_table = ? AND id = ?",
      [.text(schema.tables[table].name), .text(id)])
    guard let deletion, let last = deletion[0].integer, last > rev, let zone = deletion[1].text,
      writable.contains(table)
    else { return false }
    try note(RecoveredRecord(table: table, id: id, zone: zone, rev: last, values: nil))
    return true
  }

  /// Notes the remembered deletions of records of which the server does not know: another device may still have them.
  func noteDeletions(
    in zones: TextMap<ResyncedZone>,
    isDeleted: (_ table: Int, _ id: String, _ zone: String, _ rev: Int64) -> Bool
  ) throws {
    let deletions = try connection.rows(
      """
      SELECT record_table, id, rev, zone FROM holdfast_deleted WHERE zone IN (SELECT value FROM json_each(?))
      ORDER BY record_table, id
      """, [Self.list(zones)])
    for row in deletions {
      guard let table = schema.index(called: row[0].text ?? ""), let id = row[1].text,
        let rev = row[2].integer, let zone = row[3].text, let resynced = zones[zone],
        resynced.writable?.contains(table) == true, resynced.seen[table]?.contains(id) != true,
        !isDeleted(table, id, zone, rev), try rebase.history(table, id).base == nil
      else { continue }
      try note(RecoveredRecord(table: table, id: id, zone: zone, rev: rev, values: nil))
    }
  }

  /// The names of the zones of which the server has lost something.
  private static func list(_ zones: TextMap<ResyncedZone>) -> SQLiteValue {
    .list(zones.filter { $0.value.writable != nil }.keys.sorted())
  }

  /// Notes the confirmed records of zones that the server does not have. Looks once at whole tables.
  ///
  /// - Parameter zones: with the records that came; those that are noted are added.
  func noteMissing(
    in zones: inout TextMap<ResyncedZone>,
    isDeleted: (_ table: Int, _ id: String, _ zone: String, _ rev: Int64) -> Bool = { _, _, _, _ in false }
  ) throws {
    let names = Self.list(zones)
    for table in parentsFirst {
      let name = schema.tables[table].name
      let rows = try connection.rows(
        """
        SELECT "zone", "id" FROM "\(name)" WHERE "zone" IN (SELECT value FROM json_each(?1))
        UNION SELECT base, id FROM holdfast_edits WHERE record_table = '\(name)' AND kind IN ('delete', 'hidden')
        AND column_name = '' AND base IN (SELECT value FROM json_each(?1)) ORDER BY 1, 2
        """, [names])
      for row in rows {
        guard let zone = row[0].text, let id = row[1].text, let writable = zones[zone]?.writable,
          zones[zone]?.seen[table]?.contains(id) != true, let known = try rebase.history(table, id).base,
          !isDeleted(table, id, zone, known.rev)
        else { continue }
        if try note(table, id, known, writable) { zones[zone]?.seen[table, default: []].insert(id) }
      }
    }
  }

  /// The tables whose records a role may write, and so recover.
  func writable(_ role: Role?) -> Set<Int> {
    guard let role else { return [] }
    return Set(
      schema.tables.indices.filter { index in
        let table = schema.tables[index]
        switch table.zone {
        case .server: return role >= .editor
        case .explicit: return role >= .owner
        default: return role >= max(table.roles.create, table.roles.update)
        }
      })
  }

  /// Roots first, then members, then each table behind those that it refers to.
  private var parentsFirst: [Int] {
    var order = schema.tables.indices.filter { schema.tables[$0].zone == .root }
    order += schema.tables.indices.filter { schema.tables[$0].zone == .explicit }
    var waiting = schema.tables.indices.filter { !order.contains($0) }
    while !waiting.isEmpty {
      let free = waiting.firstIndex { table in
        schema.links(of: table).allSatisfy {
          !$0.isInZone || $0.target == table || order.contains($0.target)
        }
      }
      order.append(waiting.remove(at: free ?? 0))
    }
    return order
  }

  private func note(
    _ table: Int, _ id: String, _ known: RecordState, _ writable: Set<Int>, arrivedIn arrival: String? = nil
  ) throws -> Bool {
    guard known.rev > 0, writable.contains(table), case .text(let zone) = known.zone else { return false }
    let values = values(of: known, table)
    try note(
      RecoveredRecord(table: table, id: id, zone: zone, rev: known.rev, values: values),
      arrivedIn: arrival == zone ? nil : arrival)
    return true
  }

  private func values(of known: RecordState, _ table: Int) -> [Value] {
    sql[table].columns.map { Value(known.values[$0] ?? .null) }
  }

  /// - Parameter arrival: another zone, in which the server has the record. Should it not take the record back, that zone is resynced.
  private func note(_ record: RecoveredRecord, arrivedIn arrival: String? = nil) throws {
    Trace.took(.recoveryNoted)
    var writer = JSONWriter(capacity: 256)
    record.write(to: &writer, of: schema.tables[record.table])
    try connection.run(
      """
      INSERT OR REPLACE INTO holdfast_recovered (record_table, id, zone, deleted, body, arrived_in)
      VALUES (?1, ?2, ?3, ?4, ?5,
        coalesce(?6, (SELECT arrived_in FROM holdfast_recovered WHERE record_table = ?1 AND id = ?2)))
      """,
      [
        .text(schema.tables[record.table].name), .text(record.id), .text(record.zone),
        .integer(record.isDeletion ? 1 : 0), .blob(writer.bytes), arrival.map(SQLiteValue.text) ?? .null,
      ])
  }

  // MARK: Sending

  /// Whether edits wait until the server has back what they may build on.
  func areWaiting() throws -> Bool {
    try database.count(
      """
      SELECT EXISTS (SELECT 1 FROM holdfast_recovered)
      OR EXISTS (SELECT 1 FROM holdfast_zones WHERE resync = 'recovered' AND ack IS NOT NULL)
      OR EXISTS (SELECT 1 FROM holdfast_recovery_claims)
      """) == 1
  }

  /// What is to be recovered next: the numbers of the notes, and the bytes. Deletions come behind all records: what had moved away from a deleted
  /// one does not go with it.
  ///
  /// - Parameters:
  ///   - limit: the greatest number of them, at least 1.
  ///   - sizeLimit: the bytes beyond which none is added.
  func next(limit: Int, sizeLimit: Int) throws -> (numbers: [Int64], bodies: [[UInt8]]) {
    var (numbers, bodies, size): ([Int64], [[UInt8]], Int) = ([], [], 0)
    for isDeletion: Int64 in [0, 1] {
      let row = try connection.statement(
        "SELECT n, body FROM holdfast_recovered WHERE deleted = ? ORDER BY n")
      defer { row.reset() }
      try row.bind([.integer(isDeletion)])
      while numbers.count < min(limit, RecoveredRecord.limit), size < sizeLimit, try row.step() {
        numbers.append(row.integer(0))
        bodies.append(row.blob(1))
        size += row.blob(1).count
      }
    }
    return (numbers, bodies)
  }

  /// Purges what was dealt with. What can't be taken goes into quarantine, and its zone is resynced, as the server has it otherwise. Before that it is
  /// sent once more, behind all others, if a record of a later request may have been in the way.
  ///
  /// - Parameters:
  ///   - numbers: the notes that were dealt with.
  ///   - refused: the places among them of what can't be taken, with the problem.
  /// - Returns: how many went into quarantine.
  func settle(recovered numbers: some Sequence<Int64>, refused: [(index: Int64, problem: [UInt8])]) throws
    -> Int
  {
    let refused = Dictionary(refused.map { ($0.index, $0.problem) }) { first, _ in first }
    var (quarantined, lacking) = (0, LackingRecords())
    for (index, number) in numbers.enumerated() {
      if let problem = refused[Int64(index)] {
        if try isSentAgain(number, Problem(document: problem)?.code) { continue }
        if let row = try connection.row(
          "SELECT body, zone, arrived_in FROM holdfast_recovered WHERE n = ?", [.integer(number)])
        {
          for zone in [row[1].text, row[2].text].compactMap({ $0 }) { try zones.resync(zone) }
          if let set = try changeSet(of: row[0].blob ?? []) {
            try quarantine.add(first: -1, body: set, operation: -1, problem: problem, RolledBack(), &lacking)
            quarantined += 1
          }
        }
      }
      try connection.run("DELETE FROM holdfast_recovered WHERE n = ?", [.integer(number)])
    }
    return quarantined
  }

  /// Puts a refused record behind all others, once, if what it lacks may be among them: one that refers to it in turn, or that has a value which
  /// was its own.
  private func isSentAgain(_ number: Int64, _ code: ProblemCode?) throws -> Bool {
    guard code == .referenceMissing || code == .uniqueTaken else { return false }
    try connection.run(
      """
      UPDATE holdfast_recovered SET n = (SELECT max(n) + 1 FROM holdfast_recovered), again = 1 WHERE n = ? AND again = 0
      """, [.integer(number)])
    return connection.changes > 0
  }

  /// What a return would be as an edit; nil for the server's own records.
  private func changeSet(of body: [UInt8]) throws -> [UInt8]? {
    try operation(of: body).map { Array("[".utf8) + $0 + Array("]".utf8) }
  }

  /// The operation that a return would be; nil for the server's own records.
  ///
  /// - Parameter user: whose own membership is none either, as only the server gives it back.
  func operation(of body: [UInt8], exceptMembershipOf user: String? = nil) throws -> [UInt8]? {
    guard let json = try? JSONValue(parsing: body), let name = json["table"]?.stringValue,
      let table = schema.index(called: name).map({ schema.tables[$0] }), table.zone != .server,
      let id = json["id"], let zone = json["zone"], let rev = json["rev"]
    else { return nil }
    if table.zone == .explicit, let user, json["columns"]?["user"]?.stringValue == user { return nil }
    var members: [JSONValue.Member] = [
      .init("op", .string(json["deleted"] == nil ? "create" : "delete")), .init("table", .string(name)),
      .init("id", id), .init("at", .string(try database.state().clock.text)),
    ]
    if case .object(let columns)? = json["columns"] {
      let extra = table.zone == .explicit ? [JSONValue.Member("zone", zone)] : []
      members.append(.init("columns", .object(extra + columns)))
    } else {
      members.append(.init("rev", rev))
    }
    return JSONValue.object(members).bytes
  }
}
