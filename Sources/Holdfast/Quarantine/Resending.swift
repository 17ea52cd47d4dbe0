import HoldfastCore
import HoldfastSQLite

/// Writing the operations of refused change sets again. See PROTOCOL.md, section 6.6.
struct Resending {
  let database: LocalDatabase
  /// Makes a change set of the edits, with the origin of one that is carried; is called behind each set, so that all keep their bounds and one that is
  /// refused takes no other along.
  let seal: (_ origin: String?) throws -> Void
  /// Whether the edits are those of before: of the same times, and based on what they were based on, so that the server merges them as if they had arrived
  /// at last (I3). A person who sends a set again has seen what others have written since.
  var keepsMoments = false

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var quarantine: Quarantine { Quarantine(database: database) }

  /// Writes a set and its dependents again, each as edits of the transaction that is open, and takes them out of quarantine.
  ///
  /// - Parameters:
  ///   - amend: changes the operations of the set.
  func resend(
    _ number: Int64, amending amend: (inout [QuarantinedOperation]) throws -> Void = { _ in }
  ) throws {
    let sets = try connection.rows(
      "SELECT body FROM holdfast_quarantine WHERE n = ?1 OR because = ?1 ORDER BY n", [.integer(number)])
    try quarantine.remove(number)
    // A person or another schema has decided: these are new change sets, without an origin.
    try write(sets.map { ($0[0].blob ?? [], nil) }, amending: amend)
  }

  /// Writes sets as edits of the transaction that is open.
  ///
  /// - Parameter amend: changes the operations of the first.
  func write(
    _ sets: [(body: [UInt8], origin: String?)],
    amending amend: (inout [QuarantinedOperation]) throws -> Void = { _ in }
  ) throws {
    var count = 0
    for (index, set) in sets.enumerated() {
      var operations = QuarantinedOperation.all(set.body)
      if index == 0 { try amend(&operations) }
      try write(operations, behind: count)
      try seal(set.origin)
      count += operations.count
    }
  }

  /// - Parameter count: how many operations were written before, for what is said of one that can't be.
  private func write(_ operations: [QuarantinedOperation], behind count: Int) throws {
    try database.uniqueValues.deferring {
      for (index, operation) in operations.enumerated() {
        try explaining(operation, count + index) { try write(operation) }
      }
    }
    if let clash = try database.uniqueValues.clash() {
      for (index, operation) in operations.enumerated()
      where operation.id == clash.id && schema.index(called: operation.table) == clash.table {
        try explaining(operation, count + index) { try database.uniqueValues.check() }
      }
    }
    // Only now, as a parent may be created behind its child.
    for (index, operation) in operations.enumerated() {
      try explaining(operation, count + index) { try checkReferences(operation) }
    }
  }

  private func write(_ operation: QuarantinedOperation) throws {
    try writeRecord(operation)
    guard keepsMoments, let index = schema.index(called: operation.table) else { return }
    let table = schema.tables[index]
    let record: [SQLiteValue] = [.text(table.name), .text(operation.id)]
    let edits = "WHERE record_table = ? AND id = ? AND \(DeviceTables.isLoose)"
    let rev = operation.rev > 0 ? operation.rev : .max
    try connection.run(
      "UPDATE holdfast_edits SET rev = min(rev, ?), at = min(at, ?) \(edits)",
      [.integer(rev), .integer(operation.stamp?.milliseconds ?? .max)] + record)
    for (name, base) in operation.base {
      // Where edits combine, the value is based on the one that is here.
      guard let index = table.index(called: name), !table.columns[index].policy.combines else { continue }
      let column = table.columns[index]
      try connection.run(
        "UPDATE holdfast_edits SET base = ? \(edits) AND kind = 'update' AND column_name = ?",
        [column.value(of: base)] + record + [.text(column.name)])
    }
  }

  private func writeRecord(_ operation: QuarantinedOperation) throws {
    guard let table = schema.index(called: operation.table) else {
      throw Problem(.unknownTable, operation.table)
    }
    let here = try database.row(table, operation.id)
    // A record of before is created once: a copy of this device may have done it (I1).
    if keepsMoments, operation.kind == .create, here != nil { return }
    if operation.kind == .delete {
      // What is here may be older than the record: the server decides.
      if here == nil, keepsMoments {
        return try database.edits.record("delete", "", table, operation.id, base: .null, rev: operation.rev)
      }
      return try connection.run(sql[table].delete, [.text(operation.id)])
    }
    var values: TextMap<SQLiteValue> = [:]
    for (name, json) in operation.columns {
      if name == "zone", schema.tables[table].zone == .explicit {
        if here == nil { values[name] = json.stringValue.map { .text($0) } }
        continue
      }
      guard let index = schema.tables[table].index(called: name) else {
        // As to the server, it says nothing: a create names all columns of the app of its time.
        if json == .null { continue }
        throw Problem(
          .unknownColumn,
          "\(operation.table) has no column \(name.prefix(64)); leave it out of the operation.")
      }
      let column = schema.tables[table].columns[index]
      var value = try column.value(of: json)
      // A null of a create says nothing of a record that is here by now.
      if operation.kind == .create, here != nil, value == .null { continue }
      if let now = here?.values[index], let base = operation.base[name] {
        let combined = column.policy.combined(
          base: Value(try column.value(of: base)), mine: Value(value), theirs: now, minePrevails: true)
        if let combined { value = SQLiteValue(combined.value) }
      }
      try column.checkSent(Value(value))
      values[column.name] = value
    }
    if here != nil { return try database.rows.update(table, operation.id, values) }
    guard operation.kind == .create else { throw Problem(.recordUnknown) }
    if !Identifier.isUUID(operation.id) { throw Problem(.invalidID, "The id of the record.") }
    try database.rows.insert(table, operation.id, values)
  }

  private func checkReferences(_ operation: QuarantinedOperation) throws {
    guard let table = schema.index(called: operation.table),
      let record = try database.row(table, operation.id)
    else {
      return
    }
    for link in schema.links(of: table) where link.isInZone {
      guard case .text(let target) = record.values[link.column], try database.row(link.target, target) == nil
      else {
        continue
      }
      throw Problem(.referenceMissing, "\(operation.table).\(schema.tables[table].columns[link.column].name)")
    }
  }

  /// Runs `body`; what it throws for a rule's sake names the operation.
  private func explaining(_ operation: QuarantinedOperation, _ index: Int, _ body: () throws -> Void) throws {
    func refused(_ reason: String) -> StoreError {
      StoreError(
        .operationRefused,
        "Operation \(index + 1) (\(operation.kind.rawValue) in \(operation.table)) can't be written here: \(reason)"
      )
    }
    do {
      try body()
    } catch let problem as Problem {
      throw refused(problem.description)
    } catch let error as StoreError where error.code == .uniqueTaken {
      throw refused(error.description)
    } catch let error as SQLiteError where error.code.primary == .constraint {
      throw refused(error.message)
    }
  }
}
