import HoldfastCore
import HoldfastSQLite

/// What Holdfast's own tables of a device never hold: another program, or a disk, has scrambled it. With it no request could be made, or none that the
/// server takes. What the server has is fetched again; what it does not have, the outbox, stays and is sent.
struct Mending {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var zoneStates: ZoneStates { ZoneStates(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }
  private var outbox: Outbox { Outbox(database: database) }
  private var sealing: Sealing { Sealing(database: database) }

  /// Brings the tables into a state from which the device goes on. Call in a transaction.
  ///
  /// - Parameter replica: the name of the positions made here, where the file has none, as a snapshot; nil leaves it.
  /// - Returns: whether anything was wrong.
  @discardableResult
  func mend(replica: String? = nil) throws -> Bool {
    if let replica, try Position.Replica(name(of: "replica")) == nil {
      try connection.run("UPDATE holdfast_local SET replica = ?", [.text(replica)])
    }
    return [try mendDevice(), try mendOutbox(), try mendEdits(), try mendZones()].contains(true)
  }

  /// The same in a transaction of its own.
  func mendNow() throws -> Bool { try database.transaction(.immediate) { try mend() } }

  /// Numbers of operations, edits and transactions are below it.
  private var limit: Int64 { .max / 2 }

  private func name(of column: String) throws -> String {
    try connection.value("SELECT \(column) FROM holdfast_local")?.text ?? ""
  }

  /// Runs statements, and says whether any has changed a row.
  private func anyChanged(_ statements: [String]) throws -> Bool {
    var isAny = false
    for statement in statements {
      try connection.run(statement)
      if connection.changes > 0 { isAny = true }
    }
    return isAny
  }

  private func mendDevice() throws -> Bool {
    let numbers = [
      ("clock", 0), ("session", 0), ("last_server_clock", 0), ("resend", 0), ("confirmed", 0),
      ("last_undo", 0),
    ]
    .map { name, least in
      "UPDATE holdfast_local SET \(name) = \(least) WHERE typeof(\(name)) <> 'integer' OR \(name) < \(least)"
    }
    let texts = ["server_schema", "renamed"].map {
      "UPDATE holdfast_local SET \($0) = '' WHERE \(Self.isNoText($0))"
    }
    // Who it is, a sign-in says.
    let names = ["device", "user", "name", "token"].map {
      "UPDATE holdfast_local SET \($0) = NULL WHERE \($0) IS NOT NULL AND (\(Self.isNoText($0)) OR \($0) = '')"
    }
    return try anyChanged(
      numbers + texts + names + [
        "UPDATE holdfast_local SET proof = '' WHERE \(Self.isNoName("proof", longest: SyncAnswer.tokenLimit))",
        "UPDATE holdfast_local SET confirmed = 0 WHERE confirmed >= \(limit)",
        "UPDATE holdfast_local SET last_undo = 0 WHERE last_undo > \(limit / 2)",
        "DELETE FROM holdfast_undo WHERE n NOT BETWEEN 1 AND \(limit)",
        "UPDATE holdfast_outbox SET clock = 0 WHERE typeof(clock) <> 'integer' OR clock < 0",
        """
        UPDATE holdfast_outbox SET undo = 0, changes = NULL WHERE typeof(undo) <> 'integer' OR undo NOT BETWEEN 0 AND \(limit / 2)
        """,
      ])
  }

  /// Whether a column holds something else than a text that a message can carry; a condition of SQL.
  private static func isNoText(_ column: String) -> String {
    "(typeof(\(column)) <> 'text' OR instr(\(column), char(0)) > 0)"
  }

  /// The same of texts that the server makes of printable ASCII.
  private static func isNoName(_ column: String, longest: Int) -> String {
    "(\(isNoText(column)) OR length(\(column)) > \(longest) OR \(column) GLOB '*[^ -~]*')"
  }

  // MARK: What waits

  private func mendOutbox() throws -> Bool {
    var isSound = try !anyChanged([
      "UPDATE holdfast_outbox SET body = CAST(body AS BLOB) WHERE typeof(body) <> 'blob'"
    ])
    if try keepBroken() { isSound = false }
    let rows = try connection.rows(
      "SELECT first, last, chain_before, chain FROM holdfast_outbox ORDER BY first")
    let local = try connection.row("SELECT confirmed, confirmed_chain FROM holdfast_local") ?? []
    let links = rows.map { OutboxLink($0) }
    for (link, next) in zip(links, links.dropFirst()) where isSound {
      isSound = link.map { next?.first == $0.last + 1 && next?.before == $0.chain } ?? false
    }
    if isSound, let oldest = links.first ?? nil {
      let values: [SQLiteValue] = [.integer(oldest.first - 1), .text(oldest.before.text)]
      if values == local { return false }
      try connection.run("UPDATE holdfast_local SET confirmed = ?, confirmed_chain = ?", values)
      return true
    }
    if isSound, rows.isEmpty, let confirmed = local[0].integer, (0..<limit).contains(confirmed),
      let chain = local[1].text, Fingerprint(chain) != nil
    {
      return false
    }
    // The server finds that these are not the numbers that it knows, and gives the device a new identity.
    try connection.run("DELETE FROM holdfast_edits WHERE change_set < 1")
    try moveIntoRange(rows.compactMap { $0[0].integer })
    try outbox.beginNumbers()
    return true
  }

  /// A row of the outbox with what it can have.
  private struct OutboxLink {
    let first: Int64
    let last: Int64
    let before: Fingerprint
    let chain: Fingerprint

    init?(_ row: [SQLiteValue]) {
      guard let first = row[0].integer, let last = row[1].integer, (1..<Int64.max / 2).contains(first),
        (first..<Int64.max / 2).contains(last), last - first < SyncRequest.deletionLimit,
        let before = row[2].text.flatMap(Fingerprint.init), let chain = row[3].text.flatMap(Fingerprint.init)
      else { return nil }
      (self.first, self.last, self.before, self.chain) = (first, last, before, chain)
    }
  }

  /// Numbers that no operation can have become the last ones.
  private func moveIntoRange(_ numbers: [Int64]) throws {
    let range = 1..<Int64.max / 4
    var next = (numbers.filter { range.contains($0) }.max() ?? 0) + 1
    for number in numbers where !range.contains(number) {
      try connection.run(
        "UPDATE holdfast_outbox SET first = ? WHERE first = ?", [.integer(next), .integer(number)])
      next += 1
    }
  }

  /// Takes change sets that are none any more into quarantine, as they are.
  private func keepBroken() throws -> Bool {
    let broken = try connection.rows(
      "SELECT first, body FROM holdfast_outbox WHERE length(body) < 4 OR substr(body, 1, 2) <> X'5B7B' OR substr(body, -2) <> X'7D5D'"
    )
    if broken.isEmpty { return false }
    try database.whileApplying {
      let taken = try rebase.rollBack(broken.compactMap { $0[0].integer })
      let problem = Problem(.invalidRequest, "The change set was damaged in the file of the device.").document
      var lacking = try quarantine.lackingRecords()
      for row in broken {
        try quarantine.add(
          first: row[0].integer ?? 0, body: row[1].blob ?? [], operation: row[0].integer ?? 0,
          problem: problem,
          taken, &lacking)
      }
      try orphans.settle()
    }
    return true
  }

  /// Edits of change sets that do not wait would hide for ever what the server says; and loose ones between others would not be found.
  private func mendEdits() throws -> Bool {
    let isAny = try anyChanged([
      "DELETE FROM holdfast_edits WHERE change_set IS NOT NULL AND change_set NOT IN (SELECT first FROM holdfast_outbox)"
    ])
    let areStray = try database.count(
      """
      SELECT EXISTS (SELECT 1 FROM holdfast_edits WHERE n NOT BETWEEN 1 AND \(limit)
        OR change_set IS NULL AND NOT (\(DeviceTables.isLoose)))
      """)
    if areStray == 0 { return isAny }
    try database.edits.renumber("true")
    return true
  }

  // MARK: Zones

  private func mendZones() throws -> Bool {
    var isSound = try !anyChanged(
      ["proof", "claimed_role", "role"].map {
        "UPDATE holdfast_zones SET \($0) = '' WHERE \(Self.isNoName($0, longest: SyncAnswer.tokenLimit))"
      } + ["UPDATE holdfast_zones SET sent = 0 WHERE sent NOT IN (0, 1)"])
    for table in ["zones", "recovery_claims", "awaiting_recovery", "resets"] {
      if try removeImpossibleZones(from: "holdfast_\(table)") { isSound = false }
    }
    var resynced = TextSet()
    let states = try zoneStates.all()
    let occupied = try havingRecords(among: states.filter { $0.state?.isFollowed == false }.map(\.zone))
    for (zone, state) in states {
      guard let state, state.isPossible, state.isFollowed || !occupied.contains(zone) else {
        resynced.insert(zone)
        continue
      }
    }
    let isLost =
      "typeof(file) <> 'text' OR zone NOT IN (SELECT zone FROM holdfast_zones WHERE ack IS NOT NULL)"
    if try anyChanged(["DELETE FROM holdfast_pages WHERE \(isLost)"]) {
      isSound = false
      // One of their pages is missing.
      resynced.formUnion(
        try connection.rows("SELECT zone FROM holdfast_zones WHERE ack <> token").compactMap { $0[0].text })
    }
    for zone in resynced {
      try zoneStates.change(zone) { $0?.mend() }
      try connection.run("DELETE FROM holdfast_pages WHERE zone = ?", [.text(zone)])
    }
    // What is here of a zone that is not known any more can't be told from what the server has deleted since.
    if !isSound {
      let unknown = try zones.unknown()
      if !unknown.isEmpty { try sealing.sealForeign() }
      for zone in unknown { try zones.add(zone) }
    }
    return !isSound || !resynced.isEmpty
  }

  /// Removes the rows of a table whose zone is no id of a record (`Identifier.isPossible`).
  private func removeImpossibleZones(from table: String) throws -> Bool {
    let isForeign = "zone GLOB '*[^ -~]*'"
    var isAny = try anyChanged([
      "DELETE FROM \(table) WHERE \(Self.isNoText("zone")) OR length(CAST(zone AS BLOB)) NOT BETWEEN 1 AND 64"
    ])
    // Bytes that are no UTF-8 are read as another text, and not found by it.
    let foreign = try connection.rows("SELECT zone FROM \(table) WHERE \(isForeign)").compactMap {
      $0[0].text
    }
    if foreign.isEmpty { return isAny }
    try connection.run(
      "DELETE FROM \(table) WHERE \(isForeign) AND zone NOT IN (SELECT value FROM json_each(?))",
      [.list(foreign)])
    if connection.changes > 0 { isAny = true }
    return isAny
  }

  /// The zones of which records that the server knows are here. Looks once at whole tables.
  private func havingRecords(among zones: [String]) throws -> TextSet {
    if zones.isEmpty { return [] }
    return try schema.tables.reduce(into: []) { found, table in
      let rows = try connection.rows(
        """
        SELECT DISTINCT "zone" FROM "\(table.name)" WHERE "zone" IN (SELECT value FROM json_each(?)) AND "rev" > 0
        """, [.list(zones)])
      found.formUnion(rows.compactMap { $0[0].text })
    }
  }
}
