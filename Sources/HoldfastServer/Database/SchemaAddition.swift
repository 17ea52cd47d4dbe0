import HoldfastCore

/// What a schema adds to the one in the database. Limits, roles and policies may change freely; anything else than
/// additions is refused.
struct SchemaAddition {
  /// The indexes of the tables that are new.
  private(set) var tables: [Int] = []
  /// The columns that are new in tables that are not.
  private(set) var columns: [(table: Int, column: Int)] = []

  /// Compares two schemas.
  ///
  /// - Throws: `ServerError` naming the first place that can't change.
  init(from old: Schema, to new: Schema) throws(ServerError) {
    for table in old.tables where new.table(table.name) == nil {
      throw Self.refused("tables.\(table.name)", "was removed")
    }
    for (index, table) in new.tables.enumerated() {
      guard let before = old.table(table.name) else {
        tables.append(index)
        continue
      }
      try compare(before, table, index)
    }
  }

  private mutating func compare(_ before: Table, _ table: Table, _ index: Int) throws(ServerError) {
    let place = "tables.\(table.name)"
    if before.zone != table.zone { throw Self.refused("\(place).zone", "was changed") }
    if before.unique != table.unique { throw Self.refused("\(place).unique", "was changed") }
    for column in before.columns where table.index(of: column.name) == nil {
      throw Self.refused("\(place).columns.\(column.name)", "was removed")
    }
    for (position, column) in table.columns.enumerated() {
      let place = "\(place).columns.\(column.name)"
      guard let earlier = before.columns.first(where: { $0.name == column.name }) else {
        if column.required, column.defaultValue == nil {
          throw Self.refused(place, "is new and required, but has no default for the records that are there")
        }
        columns.append((index, position))
        continue
      }
      if earlier.type != column.type { throw Self.refused("\(place).type", "was changed") }
      if earlier.required != column.required { throw Self.refused("\(place).required", "was changed") }
      if earlier.reference?.table != column.reference?.table {
        throw Self.refused("\(place).to", "was changed")
      }
      if earlier.reference?.onDelete != column.reference?.onDelete {
        throw Self.refused("\(place).on_delete", "was changed")
      }
      if earlier.reference != column.reference { throw Self.refused("\(place).across", "was changed") }
    }
  }

  private static func refused(_ place: String, _ what: String) -> ServerError {
    ServerError(
      .schemaCannotChange,
      "\(place) \(what). Tables and columns can be added; keep the rest as it is in the database.")
  }
}
