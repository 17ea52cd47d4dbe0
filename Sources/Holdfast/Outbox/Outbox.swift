import HoldfastCore
import HoldfastSQLite

/// The change sets that wait to be confirmed: their numbers, their chain, and what the server has decided of
/// them.
struct Outbox {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var rebase: Rebase { Rebase(database: database) }
  private var quarantine: Quarantine { Quarantine(database: database) }

  /// How many operations the server has not confirmed, with those that are not in a change set yet.
  func unconfirmedOperations() throws -> Int {
    try waitingOperations()
      + database.count(
        "SELECT count(*) FROM (SELECT DISTINCT record_table, id FROM holdfast_edits WHERE \(DeviceTables.isLoose))"
      )
  }

  /// How many operations wait in the outbox.
  func waitingOperations() throws -> Int {
    try database.count("SELECT coalesce(sum(last - first + 1), 0) FROM holdfast_outbox")
  }

  /// The oldest change sets, up to the limits; always one.
  func read(
    into request: inout SyncRequest, changeSetLimit: Int, sizeLimit: Int
  ) throws -> ([[UInt8]], Int, oldest: String?) {
    var sealed: [[UInt8]] = []
    var oldest: String?
    var (size, operations) = (0, 0)
    let row = try connection.statement(
      "SELECT first, last, chain_before, body, chain, origin FROM holdfast_outbox ORDER BY first")
    defer { row.reset() }
    while sealed.count < changeSetLimit, size < sizeLimit, try row.step() {
      guard (1..<Int64.max / 2).contains(row.integer(0)),
        (row.integer(0)..<row.integer(0) + Int64(SyncRequest.deletionLimit)).contains(row.integer(1))
      else {
        throw StoreError(
          .databaseIsBroken,
          "The table holdfast_outbox has numbers that no operation can have. Open the file again, which mends them."
        )
      }
      if sealed.isEmpty {
        request.first = row.integer(0)
        request.chain = Fingerprint(row.text(2)) ?? .beginning
        oldest = row.text(4)
      }
      let body = row.blob(3)
      // One large set goes alone, so that a request never passes the server's limit.
      if !sealed.isEmpty, size + body.count > 4 * sizeLimit { break }
      size += body.count
      operations += Int(row.integer(1) - row.integer(0) + 1)
      sealed.append(body)
      if let origin = row.value(5).text {
        request.carried.append(CarriedChangeSet(first: row.integer(0), origin: origin))
      }
      request.lastChain = Fingerprint(row.text(4))
    }
    return (sealed, operations, oldest)
  }

  // MARK: Answers

  /// Whether the server's fingerprint at its number is the one of this device's own history.
  func isOwnHistory(_ answer: SyncAnswer, _ state: DeviceState) throws -> Bool {
    let own: String?
    if answer.confirmed == state.confirmed {
      own = state.confirmedChain.text
    } else {
      own = try connection.value(
        "SELECT chain FROM holdfast_outbox WHERE last = ?", [.integer(answer.confirmed)])?.text
    }
    return own == answer.chain.text
  }

  /// Notes which change sets have edits in zones that have moved to another database, while the zones' records are here. They are sent as ever; the server
  /// may not know any more what they are about. One with edits in other zones too is nobody's to carry: `moved_to` is empty.
  func noteMoved(_ moves: [(zone: String, database: String)]) throws {
    let tables = database.schema.tables.map { table in
      #"WHEN '\#(table.name)' THEN (SELECT r."zone" FROM "\#(table.name)" r WHERE r."id" = e.id)"#
    }
    let zone = """
      coalesce(CASE e.record_table \(tables.joined(separator: " ")) END, (SELECT d.base FROM holdfast_edits d
        WHERE d.record_table = e.record_table AND d.id = e.id AND d.column_name = '' AND d.kind = 'delete'))
      """
    for (moved, name) in moves {
      try connection.run(
        """
        UPDATE holdfast_outbox SET moved_zone = ?1,
          moved_to = CASE WHEN first IN (SELECT change_set FROM holdfast_edits e WHERE \(zone) <> ?1) THEN '' ELSE ?2 END
        WHERE moved_zone IS NULL AND first IN (SELECT change_set FROM holdfast_edits e WHERE \(zone) = ?1)
        """, [.text(moved), .text(name)])
    }
  }

  /// Takes refused change sets back into quarantine, but for those of which a copy took effect before.
  ///
  /// - Parameter created: gets the records that are back by it.
  /// - Returns: how many went there, and how many of them as their zone has moved to another database.
  func refuse(_ refusals: [SyncAnswer.Refused], _ created: inout [CreatedRecord]) throws -> (
    count: Int, moved: Int
  ) {
    var (quarantined, moved) = (0, 0)
    let taken = try rebase.rollBack(refusals.map(\.first))
    created += taken.back
    let device = try refusals.isEmpty ? "" : database.state().device ?? ""
    var lacking = try refusals.isEmpty ? LackingRecords() : quarantine.lackingRecords()
    for refused in refusals {
      let row = try connection.row(
        "SELECT body, moved_zone, moved_to, origin, chain FROM holdfast_outbox WHERE first = ?",
        [.integer(refused.first)])
      guard let row, let body = row[0].blob else { continue }
      var problem = refused.problem
      if let zone = row[1].text, let database = row[2].text {
        problem = (database.isEmpty ? Problem(.zoneMoved) : Problem(moved: zone, to: database)).document
      }
      let reason = Problem(document: problem)
      if reason?.code == .alreadyApplied {
        try connection.run("DELETE FROM holdfast_outbox WHERE first = ?", [.integer(refused.first)])
        continue
      }
      if reason?.code == .zoneMoved { moved += 1 }
      if reason?.zone != nil {
        // One that was carried here is not here any more, and is carried on from the quarantine.
        try connection.run("DELETE FROM holdfast_carried WHERE origin = ?", [row[3]])
      }
      // The chain is that of all that the device has sent, which no other device has.
      let origin = row[3].text ?? Fingerprint(of: device, " ", row[4].text ?? "").text
      try quarantine.add(
        first: refused.first, body: body, operation: refused.operation, problem: problem, origin: origin,
        taken, &lacking)
      quarantined += 1
    }
    return (quarantined, moved)
  }

  /// The records that change sets create, by the first number of each set; as far as the sets wait here and their tables are known.
  func created(inSets sets: [Int64]) throws -> [Int64: [CreatedRecord]] {
    var created: [Int64: [CreatedRecord]] = [:]
    for first in sets {
      let body = try connection.value("SELECT body FROM holdfast_outbox WHERE first = ?", [.integer(first)])?
        .blob
      created[first] = try body.map(records)
    }
    return created
  }

  /// The records that the operations of a change set name.
  private func records(in body: [UInt8]) throws -> [CreatedRecord] {
    var records: [CreatedRecord] = []
    try JSONReader.read(body) { reader in
      try reader.readArray { reader in
        var (table, id) = ("", "")
        try reader.readObject { key, reader in
          switch key {
          case "table": table = try reader.readString()
          case "id": id = try reader.readString()
          default: try reader.skipValue()
          }
        }
        if let table = database.schema.index(called: table) {
          records.append(CreatedRecord(table: table, id: id))
        }
      }
    }
    return records
  }

  /// Purges the change sets that an answer confirms, and their edits.
  func confirm(_ answer: SyncAnswer, after state: DeviceState) throws {
    if answer.confirmed > state.confirmed {
      try connection.run("DELETE FROM holdfast_edits WHERE change_set <= ?", [.integer(answer.confirmed)])
      try UndoTable(connection: connection).settle(
        "first <= ?1 AND last <= ?1", [.integer(answer.confirmed)])
      Trace.took(.confirmed)
    }
    try connection.run(
      "UPDATE holdfast_local SET confirmed = ?, confirmed_chain = ?",
      [.integer(answer.confirmed), .text(answer.chain.text)])
  }

  // MARK: Numbers

  /// Begins the numbers of this device with its first change set that waits, as for a server that knows none of them.
  func beginNumbers() throws {
    try connection.run(
      "UPDATE holdfast_local SET confirmed = 0, confirmed_chain = ?, resend = 1, proof = ''",
      [.text(Fingerprint.beginning.text)])
    // Those of the identity before count as lost when the server was restored: their numbers say nothing to it.
    try connection.run("UPDATE holdfast_unapplied SET first = ?", [.integer(.max)])
    try renumber(from: 1)
  }

  /// How many operations a change set has; what is none counts as one.
  private static func operations(in body: [UInt8]) -> Int64 {
    var count: Int64 = 0
    try? JSONReader.read(body) { reader in
      try reader.readArray {
        try $0.skipValue()
        count += 1
      }
    }
    return max(count, 1)
  }

  /// Gives the change sets of the outbox the numbers from `first` on. Their bytes stay.
  func renumber(from first: Int64) throws {
    var number = first
    let before = try connection.value(
      """
      SELECT coalesce((SELECT chain FROM holdfast_outbox WHERE last < ? ORDER BY last DESC LIMIT 1), confirmed_chain)
      FROM holdfast_local
      """, [.integer(first)])
    var chain = before?.text.flatMap(Fingerprint.init) ?? .beginning
    let rows = try connection.rows(
      "SELECT first FROM holdfast_outbox WHERE first >= ? ORDER BY first", [.integer(first)])
    var numbers: [Int64: Int64] = [:]
    // Two steps, through negative numbers, as old and new numbers may overlap.
    for old in rows.compactMap({ $0[0].integer }) {
      let body =
        try connection.value("SELECT body FROM holdfast_outbox WHERE first = ?", [.integer(old)])?.blob ?? []
      let next = body.withUnsafeBufferPointer { chain.chained(with: $0) }
      let count = Self.operations(in: body)
      try connection.run(
        "UPDATE holdfast_outbox SET first = ?, last = ?, chain_before = ?, chain = ? WHERE first = ?",
        [
          .integer(-number), .integer(-(number + count - 1)), .text(chain.text), .text(next.text),
          .integer(old),
        ])
      numbers[old] = number
      number += count
      chain = next
    }
    try connection.run("UPDATE holdfast_outbox SET first = -first, last = -last WHERE first < 0")
    for edit in try connection.rows("SELECT n, change_set FROM holdfast_edits WHERE change_set IS NOT NULL") {
      guard let number = edit[1].integer.flatMap({ numbers[$0] }) else { continue }
      try connection.run(
        "UPDATE holdfast_edits SET change_set = ? WHERE n = ?", [.integer(number), edit[0]])
    }
  }
}
