/// What a schema adds to the one that a database was made for. Limits, defaults, roles, policies and the lists of positions may change
/// freely, and indexes may come and go; anything else than additions is refused.
public struct SchemaAddition: Sendable {
  /// The indexes of the tables that are new.
  public private(set) var tables: [Int] = []
  /// The columns that are new in tables that are not.
  public private(set) var columns: [(table: Int, column: Int)] = []

  /// The indexes that are new in tables that are not.
  public private(set) var indexes: [(table: Int, columns: [String])] = []
  /// The indexes that such tables have no longer.
  public private(set) var droppedIndexes: [(table: Int, columns: [String])] = []

  /// Whether nothing is new that a device keeps: indexes are the server's.
  public var isEmpty: Bool { tables.isEmpty && columns.isEmpty }

  /// Compares two schemas.
  ///
  /// - Throws: `SchemaError` naming every place that can't change.
  public init(from old: Schema, to new: Schema) throws(SchemaError) {
    var faults: [SchemaError.Fault] = []
    for table in old.tables where new.table(table.name) == nil {
      faults.append(Self.fault("tables.\(table.name)", "was removed"))
    }
    for (index, table) in new.tables.enumerated() {
      guard let before = old.table(table.name) else {
        tables.append(index)
        continue
      }
      faults += compare(before, table, index)
    }
    guard faults.isEmpty else { throw SchemaError(faults: faults) }
  }

  private mutating func compare(_ before: Table, _ table: Table, _ index: Int) -> [SchemaError.Fault] {
    let place = "tables.\(table.name)"
    var faults: [SchemaError.Fault] = []
    if before.zone != table.zone { faults.append(Self.fault("\(place).zone", "was changed")) }
    if before.unique != table.unique { faults.append(Self.fault("\(place).unique", "was changed")) }
    let (kept, wanted) = (before.serverIndexes, table.serverIndexes)
    for columns in wanted where !kept.contains(columns) { indexes.append((index, columns)) }
    for columns in kept where !wanted.contains(columns) {
      droppedIndexes.append((index, columns))
    }
    for column in before.columns where table.index(of: column.name) == nil {
      faults.append(Self.fault("\(place).columns.\(column.name)", "was removed"))
    }
    for (position, column) in table.columns.enumerated() {
      let place = "\(place).columns.\(column.name)"
      guard let earlier = before.columns.first(where: { $0.name == column.name }) else {
        if column.required, column.defaultValue == nil {
          faults.append(
            Self.fault(place, "is new and required, but has no default for the records that are there"))
        }
        columns.append((index, position))
        continue
      }
      if earlier.type != column.type { faults.append(Self.fault("\(place).type", "was changed")) }
      if earlier.required != column.required { faults.append(Self.fault("\(place).required", "was changed")) }
      if earlier.reference?.table != column.reference?.table {
        faults.append(Self.fault("\(place).to", "was changed"))
      } else if earlier.reference?.onDelete != column.reference?.onDelete {
        faults.append(Self.fault("\(place).on_delete", "was changed"))
      } else if earlier.reference != column.reference {
        faults.append(Self.fault("\(place).across", "was changed"))
      }
    }
    return faults
  }

  private static func fault(_ place: String, _ what: String) -> SchemaError.Fault {
    .init(place, "This \(what). Tables and columns can be added; keep the rest as it is in the database.")
  }
}
