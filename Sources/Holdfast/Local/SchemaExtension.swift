import HoldfastCore

/// What a schema adds to the one before it. Anything else than additions is refused.
struct SchemaExtension {
  /// The indexes of the tables that are new.
  private(set) var tables: [Int] = []
  /// The indexes of the columns that are new in tables that are not.
  private(set) var columns: [(table: Int, columns: [Int])] = []

  var isEmpty: Bool { tables.isEmpty && columns.isEmpty }

  init(from old: Schema, to new: Schema) throws(StoreError) {
    for table in old.tables where new.table(table.name) == nil {
      throw Self.refused("tables.\(table.name)", "was removed")
    }
    for (index, table) in new.tables.enumerated() {
      guard let before = old.table(table.name) else {
        tables.append(index)
        continue
      }
      if before.zone != table.zone { throw Self.refused("tables.\(table.name).zone", "was changed") }
      for column in before.columns where table.index(of: column.name) == nil {
        throw Self.refused("tables.\(table.name).columns.\(column.name)", "was removed")
      }
      var added: [Int] = []
      for (position, column) in table.columns.enumerated() {
        let place = "tables.\(table.name).columns.\(column.name)"
        if let earlier = before.columns.first(where: { $0.name == column.name }) {
          if earlier.type != column.type || earlier.required != column.required
            || earlier.reference != column.reference
          {
            throw Self.refused(place, "has another type, required or reference")
          }
        } else if column.required, column.defaultValue == nil {
          throw Self.refused(place, "is new and required, but has no default for the records that are there")
        } else {
          added.append(position)
        }
      }
      if !added.isEmpty { columns.append((index, added)) }
    }
  }

  private static func refused(_ place: String, _ what: String) -> StoreError {
    StoreError(
      .schemaCannotChange, "\(place) \(what). Tables and columns can be added; keep the rest as it was.")
  }
}
