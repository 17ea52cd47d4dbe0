/// The difference between a new schema and that of a database: additions, renames and removals; see docs/SCHEMA-CHANGES.md. Limits,
/// defaults, roles, policies and lists of positions can always change. Other changes are refused.
package struct SchemaDifference: Sendable {
  /// A changed name.
  package struct Renaming: Hashable, Sendable {
    /// The former name.
    package let old: String
    /// The current name.
    package let new: String
  }

  /// A table in both schemas.
  package struct Kept: Sendable {
    /// Its index in the old schema.
    package let before: Int
    /// Its index in the new schema.
    package let index: Int
    /// The renamed columns.
    package fileprivate(set) var renamed: [Renaming] = []
    /// The indexes of added columns, in the new table.
    package fileprivate(set) var added: [Int] = []
    /// The names of removed columns.
    package fileprivate(set) var removed: [String] = []
    /// The current names of the old columns; nil for removed ones.
    package fileprivate(set) var names: TextMap<String> = [:]
    /// Whether the table or a column is renamed, or a column is removed.
    package fileprivate(set) var isRewritten = false
  }

  /// The indexes of added tables.
  package private(set) var tables: [Int] = []
  /// The tables in both schemas.
  package private(set) var kept: [Kept] = []
  /// The renamed tables.
  package private(set) var renamedTables: [Renaming] = []
  /// The names of removed tables.
  package private(set) var removedTables: [String] = []

  /// The added indexes of existing tables.
  package private(set) var indexes: [(table: Int, columns: [String])] = []
  /// The removed indexes of existing tables, with current column names.
  package private(set) var droppedIndexes: [(table: Int, columns: [String])] = []

  /// The added columns of existing tables.
  package var columns: [(table: Int, column: Int)] {
    kept.flatMap { kept in kept.added.map { (kept.index, $0) } }
  }
  /// Whether nothing is added that a device stores. Indexes exist only on the server.
  package var isEmpty: Bool { tables.isEmpty && columns.isEmpty }
  /// The places of removed items, as in `holdfast.json`.
  package var removals: [String] {
    removedTables.map { "tables.\($0)" }
      + kept.flatMap { kept in kept.removed.map { "tables.\(old.tables[kept.before].name).columns.\($0)" } }
  }

  private let old: SyncSchema
  private let new: SyncSchema

  private let canReplace: Bool

  /// Compares two schemas.
  ///
  /// - Parameter canReplace: whether a column that differs is taken for another one of the same name: a device may have skipped the schema in
  ///   which it was removed.
  /// - Throws: `SchemaError` with every place that can't change.
  package init(from old: SyncSchema, to new: SyncSchema, canReplace: Bool = false) throws(SchemaError) {
    (self.old, self.new, self.canReplace) = (old, new, canReplace)
    var pairs: [(before: Int, index: Int)] = []
    for (index, table) in new.tables.enumerated() {
      if let before = old.index(of: table.name) {
        pairs.append((before, index))
      } else if let before = table.was.lazy.compactMap({ old.index(of: $0) }).first {
        pairs.append((before, index))
        renamedTables.append(Renaming(old: old.tables[before].name, new: table.name))
      } else {
        tables.append(index)
      }
    }
    let found = Set(pairs.map(\.before))
    removedTables = old.tables.indices.filter { !found.contains($0) }.map { old.tables[$0].name }
    let tableNames = TextMap(
      pairs.map { (old.tables[$0.before].name, new.tables[$0.index].name) },
      uniquingKeysWith: { first, _ in first })
    var faults: [SchemaError.Fault] = []
    if pairs.count > found.count {
      faults.append(
        .init("tables", "Two tables say that they were the same one; only one of them can have its records."))
    }
    for pair in pairs { faults += compare(pair.before, pair.index, tableNames) }
    guard faults.isEmpty else { throw SchemaError(faults: faults) }
  }

  /// Checks that nothing is removed.
  ///
  /// - Throws: `SchemaError` with every removed item.
  package func requireNoRemoval() throws(SchemaError) {
    if removals.isEmpty { return }
    throw SchemaError(faults: removals.map { Self.fault($0, "was removed") })
  }

  private mutating func compare(
    _ before: Int, _ index: Int, _ tableNames: TextMap<String>
  ) -> [SchemaError.Fault] {
    let (earlier, table) = (old.tables[before], new.tables[index])
    let place = "tables.\(table.name)"
    var kept = Kept(before: before, index: index)
    var faults: [SchemaError.Fault] = []
    for (number, column) in table.columns.enumerated() {
      let place = "\(place).columns.\(column.name)"
      var known =
        earlier.index(of: column.name) ?? column.was.lazy.compactMap { earlier.index(of: $0) }.first
      if canReplace, let found = known, table.zone != .parent(column.name),
        !Self.faults(earlier.columns[found], column, at: place, tableNames).isEmpty
      {
        known = nil
      }
      guard let known else {
        if column.required, column.defaultValue == nil {
          faults.append(
            Self.fault(place, "is new and required, but has no default for the records that are there"))
        }
        kept.added.append(number)
        continue
      }
      let name = earlier.columns[known].name
      if kept.names.updateValue(column.name, forKey: name) != nil {
        faults.append(Self.fault("\(place).was", "says what another column was already"))
      }
      if name != column.name { kept.renamed.append(Renaming(old: name, new: column.name)) }
      faults += Self.faults(earlier.columns[known], column, at: place, tableNames)
    }
    kept.removed = earlier.columns.map(\.name).filter { kept.names[$0] == nil }
    kept.isRewritten =
      earlier.name != table.name || !kept.renamed.isEmpty || !kept.removed.isEmpty
    if kept.zone(earlier.zone) != table.zone { faults.append(Self.fault("\(place).zone", "was changed")) }
    if kept.groups(earlier.unique) != table.unique {
      faults.append(Self.fault("\(place).unique", "was changed"))
    }
    let (wanted, there) = (table.serverIndexes, kept.groups(earlier.serverIndexes))
    for columns in wanted where !there.contains(columns) { indexes.append((index, columns)) }
    for columns in there where !wanted.contains(columns) { droppedIndexes.append((index, columns)) }
    self.kept.append(kept)
    return faults
  }

  private static func faults(
    _ earlier: ColumnSchema, _ column: ColumnSchema, at place: String, _ tableNames: TextMap<String>
  ) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if earlier.type != column.type { faults.append(fault("\(place).type", "was changed")) }
    if earlier.required != column.required { faults.append(fault("\(place).required", "was changed")) }
    if earlier.reference.map({ tableNames[$0.table] }) != column.reference.map(\.table) {
      faults.append(fault("\(place).to", "was changed"))
    } else if earlier.reference?.onDelete != column.reference?.onDelete {
      faults.append(fault("\(place).on_delete", "was changed"))
    } else if earlier.reference?.across != column.reference?.across {
      faults.append(fault("\(place).across", "was changed"))
    }
    return faults
  }

  private static func fault(_ place: String, _ what: String) -> SchemaError.Fault {
    .init(
      place,
      "This \(what). See docs/SCHEMA-CHANGES.md for what can change, and keep the rest as it is in the database."
    )
  }
}

extension SchemaDifference.Kept {
  /// A zone rule of the old schema, with current column names.
  fileprivate func zone(_ rule: ZoneRule) -> ZoneRule {
    guard case .parent(let column) = rule else { return rule }
    return .parent(names[column] ?? column)
  }

  /// Column groups of the old schema, with current names. Groups with removed columns are left out.
  package func groups(_ groups: [[String]]) -> [[String]] {
    groups.map { $0.map { names[$0] ?? ($0 == "id" ? "id" : "") } }.filter { !$0.contains("") }
  }
}
