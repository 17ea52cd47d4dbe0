import HoldfastCore
import HoldfastSQLite

/// One undo: what a transaction did, rolled back where nobody has changed it since. See docs/UNDO.md.
struct Undoing {
  private let changes: [UndoneRecord]
  private let local: LocalDatabase
  private(set) var result: UndoResult

  init(_ changes: [UndoneRecord], number: Int64, in local: LocalDatabase) {
    self.changes = changes
    self.local = local
    result = UndoResult(number: number)
  }

  /// References first, so that nothing goes along with a record that goes; other columns last, when unique values are free again.
  mutating func run() throws {
    let updates = changes.filter { $0.kind == .update }
    var later: [(change: UndoneRecord, column: String)] = []
    for change in updates {
      for column in (change.after ?? [:]).keys.sorted() {
        if try isReferenceToRecord(change, column) {
          try restore(column, of: change)
        } else {
          later.append((change, column))
        }
      }
    }
    try deleteCreated()
    try bringBackDeleted()
    for (change, column) in later { try restore(column, of: change) }
  }

  private func note(_ change: UndoneRecord, _ column: String? = nil) -> UndoResult.Change {
    .init(kind: change.kind, table: change.table, id: change.id, column: column)
  }

  private mutating func leave(
    _ change: UndoneRecord, _ reason: UndoResult.Reason, column: String? = nil
  ) {
    result.left.append(.init(change: note(change, column), reason: reason))
  }

  /// Runs a statement that a rule of the schema may forbid; says whether it did not.
  private func isAllowed(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return true
    } catch let error as SQLiteError where error.code.primary == .constraint { return false }
  }

  // MARK: Columns

  private func link(_ change: UndoneRecord, _ column: String) -> SyncSchema.Link? {
    guard let table = local.schema.index(of: change.table) else { return nil }
    return local.schema.links(of: table).first {
      $0.isInZone && local.schema.tables[table].columns[$0.column].name == column
    }
  }

  /// Whether the column referred to a record that is here, or to none.
  private func isReferenceToRecord(_ change: UndoneRecord, _ column: String) throws -> Bool {
    guard let link = link(change, column) else { return false }
    guard let target = change.before?[column]?.text else { return true }
    return try local.row(link.target, target) != nil
  }

  private mutating func restore(_ name: String, of change: UndoneRecord) throws {
    guard let table = local.schema.index(of: change.table),
      let index = local.schema.tables[table].index(of: name),
      let before = change.before?[name], let after = change.after?[name]
    else { return }
    let column = local.schema.tables[table].columns[index]
    guard let here = try local.row(table, change.id)?.values[index] else {
      return leave(change, .gone, column: name)
    }
    if let link = link(change, name), let target = before.text, try local.row(link.target, target) == nil {
      return leave(change, .parentMissing, column: name)
    }
    var value = before
    if column.policy == .counter || column.policy == .set {
      let back = column.policy.combined(
        base: Value(after), mine: Value(before), theirs: here, minePrevails: true)
      guard let back else { return leave(change, .changed, column: name) }
      // What the transaction found is taken as it was, to the byte.
      if SQLiteValue(here) != after { value = SQLiteValue(back.value) }
    } else if SQLiteValue(here) != after {
      return leave(change, .changed, column: name)
    }
    do { try column.checkSent(Value(value)) } catch { return leave(change, .forbidden, column: name) }
    if try isAllowed({ try local.rows.update(table, change.id, [name: value]) }) {
      result.undone.append(note(change, name))
    } else {
      leave(change, .forbidden, column: name)
    }
  }

  // MARK: Records

  /// Deletes what the transaction created, children before parents, unless something else has come to depend on it.
  private mutating func deleteCreated() throws {
    var waiting: [UndoneRecord] = []
    for change in changes.reversed() where change.kind == .create {
      guard let table = local.schema.index(of: change.table), let here = try local.row(table, change.id)
      else {
        leave(change, .gone)
        continue
      }
      if try isUnchanged(change, table, here.rev, here.values) {
        waiting.append(change)
      } else {
        leave(change, .changed)
      }
    }
    var count: Int
    repeat {
      count = waiting.count
      var referred: [UndoneRecord] = []
      for change in waiting {
        guard let table = local.schema.index(of: change.table) else { continue }
        if try isReferredTo(change, table) {
          referred.append(change)
        } else {
          try local.connection.run(local.sql[table].delete, [.text(change.id)])
          result.undone.append(note(change))
        }
      }
      waiting = referred
    } while waiting.count < count
    for change in waiting { leave(change, .referred) }
  }

  private func isUnchanged(
    _ change: UndoneRecord, _ table: Int, _ rev: Int64, _ values: [Value]
  ) throws -> Bool {
    for (column, value) in zip(local.sql[table].columns, values) {
      guard let made = change.after?[column], made != SQLiteValue(value) else { continue }
      // A null of a create says nothing: the server may have filled the column in, which is no change of anybody's.
      let isFilled =
        try made == .null && rev <= 1 && !local.edits.of(table, change.id).contains { $0.column == column }
      if !isFilled { return false }
    }
    return true
  }

  private func isReferredTo(_ change: UndoneRecord, _ table: Int) throws -> Bool {
    for link in local.schema.links(to: table) {
      let child = local.schema.tables[link.table]
      let found = try local.connection.value(
        "SELECT 1 FROM \"\(child.name)\" WHERE \"\(child.columns[link.column].name)\" = ?1 AND \"id\" <> ?1 LIMIT 1",
        [.text(change.id)])
      if found != nil { return true }
    }
    guard local.schema.tables[table].zone == .root else { return false }
    // The root of a zone is everybody's who has become a member of it.
    let found = try local.connection.value(
      "SELECT 1 FROM members WHERE \"zone\" = ? AND \"user\" IS NOT (SELECT user FROM holdfast_local) LIMIT 1",
      [.text(change.id)])
    return found != nil
  }

  /// Inserts what the transaction deleted, parents before children.
  private mutating func bringBackDeleted() throws {
    var waiting: [UndoneRecord] = []
    for change in changes where change.kind == .delete {
      guard let table = local.schema.index(of: change.table) else { continue }
      if try local.row(table, change.id) != nil {
        leave(change, .returned)
      } else if canBeSent(change, table) {
        waiting.append(change)
      } else {
        leave(change, .forbidden)
      }
    }
    var back: [UndoneRecord] = []
    var count: Int
    repeat {
      count = waiting.count
      var orphans: [UndoneRecord] = []
      for change in waiting {
        guard let table = local.schema.index(of: change.table), let values = change.before else { continue }
        var missing: String?
        let isAllowed = try isAllowed {
          missing = try local.rows.insertAgain(table, change.id, zone: change.zone, values)
        }
        if missing != nil {
          orphans.append(change)
        } else if isAllowed {
          back.append(change)
        } else {
          leave(change, .forbidden)
        }
      }
      waiting = orphans
    } while waiting.count < count
    for change in waiting { leave(change, .parentMissing) }
    for change in back {
      try referAgain(change)
      result.undone.append(note(change))
    }
  }

  /// Whether the schema of now allows the record: an app of before may have had other limits.
  private func canBeSent(_ change: UndoneRecord, _ table: Int) -> Bool {
    Identifier.isUUID(change.id)
      && local.schema.tables[table].columns.allSatisfy { column in
        guard let value = change.before?[column.name] else { return true }
        return (try? column.checkSent(Value(value))) != nil
      }
  }

  /// Fills in references to records that came back later than the one that has them.
  private func referAgain(_ change: UndoneRecord) throws {
    guard let table = local.schema.index(of: change.table) else { return }
    for link in local.schema.links(of: table) where link.isInZone {
      let column = local.schema.tables[table].columns[link.column].name
      guard let target = change.before?[column]?.text, try local.row(link.target, target) != nil else {
        continue
      }
      try local.rows.update(table, change.id, [column: .text(target)])
    }
  }
}
