import HoldfastCore
import HoldfastSQLite

/// Writing the operations of refused change sets again. See PROTOCOL.md, section 6.6.
package struct Resending {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var sql: [TableStatements] { database.sql }
  private var quarantine: Quarantine { Quarantine(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Writes a set and its dependents as edits of the transaction that is open, and takes them out of quarantine.
  package func resend(_ number: Int64, _ amend: (inout [QuarantinedOperation]) throws -> Void) throws {
    let sets = try connection.rows(
      "SELECT body FROM holdfast_quarantine WHERE n = ?1 OR because = ?1 ORDER BY n", [.integer(number)])
    try quarantine.remove(number)
    guard let first = sets.first?[0].blob else { return }
    var operations = QuarantinedOperation.all(first)
    try amend(&operations)
    for set in sets.dropFirst() { operations += QuarantinedOperation.all(set[0].blob ?? []) }
    try database.uniqueValues.deferring {
      for (index, operation) in operations.enumerated() {
        try explaining(operation, index) { try write(operation) }
      }
    }
    if let clash = try database.uniqueValues.clash() {
      for (index, operation) in operations.enumerated()
      where operation.id == clash.id && schema.index(called: operation.table) == clash.table {
        try explaining(operation, index) { try database.uniqueValues.check() }
      }
    }
    // Only now, as a parent may be created behind its child.
    for (index, operation) in operations.enumerated() {
      try explaining(operation, index) { try checkReferences(operation) }
    }
  }

  private func write(_ operation: QuarantinedOperation) throws {
    guard let table = schema.index(called: operation.table) else {
      throw Problem(.unknownTable, operation.table)
    }
    let here = try database.row(table, operation.id)
    if operation.kind == .delete {
      return try connection.run(sql[table].delete, [.text(operation.id)])
    }
    var values: TextMap<SQLiteValue> = [:]
    for (name, json) in operation.columns {
      if name == "zone", schema.tables[table].zone == .explicit {
        if here == nil { values[name] = json.stringValue.map { .text($0) } }
        continue
      }
      guard let index = schema.tables[table].index(called: name) else {
        throw Problem(.unknownColumn, "\(operation.table) has no column \(name.prefix(64)).")
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
      try column.check(Value(value))
      values[column.name] = value
    }
    if here != nil { return try database.rows.update(table, operation.id, values) }
    guard operation.kind == .create else { throw Problem(.recordUnknown) }
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
