import HoldfastCore
import HoldfastSQLite

/// Undoing one of this device's own transactions. See docs/UNDO.md.
package struct Undo {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var sealing: Sealing { Sealing(database: database) }
  private var undoHistory: UndoHistory { UndoHistory(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Undoes a transaction in one of its own; see `Store.undo`.
  @discardableResult
  package func run(_ number: Int64?) throws -> UndoResult {
    try database.transaction(.immediate) {
      try sealing.sealForeign()
      return try undo(try number ?? undoHistory.last()?.number)
    }
  }

  /// The same for the last transaction that can be undone.
  ///
  /// - Returns: nil when it has another number.
  func run(ifLast number: Int64) throws -> UndoResult? {
    try database.transaction(.immediate) {
      try sealing.sealForeign()
      return try undoHistory.last()?.number == number ? try undo(number) : nil
    }
  }

  private func undo(_ number: Int64?) throws -> UndoResult {
    guard let number, let changes = try undoHistory.records(number) else {
      throw StoreError(.nothingToUndo, "There is nothing on this device that could be undone.")
    }
    let undoing = try undoTogether(changes, number)
    let isKept = try sealing.sealOwn(undoing: number)
    // Else the next undo would mean it again.
    if !isKept, undoing.result.undone.isEmpty { try UndoTable(connection: connection).passOver(number) }
    return undoing.result
  }

  /// Undoes with unique values looked at when all is undone; where two records would have one value, again, leaving out what is forbidden.
  private func undoTogether(_ changes: [UndoneRecord], _ number: Int64) throws -> Undoing {
    struct IsTaken: Error {}
    do {
      return try connection.savepoint {
        var undoing = Undoing(changes, number: number, in: database)
        try database.uniqueValues.deferring { try undoing.run() }
        if try database.uniqueValues.clash() != nil { throw IsTaken() }
        return undoing
      }
    } catch is IsTaken {
      var undoing = Undoing(changes, number: number, in: database)
      try undoing.run()
      return undoing
    }
  }
}
