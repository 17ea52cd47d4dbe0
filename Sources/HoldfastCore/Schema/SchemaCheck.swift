/// Checks a schema. Each fault names its place and the remedy.
package struct SchemaCheck {
  let name: String
  let tables: [TableSchema]

  package static let reservedColumns: TextSet = [
    "id", "zone", "rev", "seq", "stamps", "deleted", "deleted_at", "rowid", "oid", "_rowid_",
    "tableoid", "xmin", "cmin", "xmax", "cmax", "ctid",
  ]
  /// A trigger's statement on a table called `new` or `old` can't name the row that the trigger runs for.
  static let reservedTables: TextSet = [TableSchema.members.name, TableSchema.conflicts.name, "new", "old"]
  static let reservedTablePrefixes = ["holdfast_", "sqlite_"]
  static let reservedColumnPrefix = "holdfast_removed_"

  static let schemaNameLimit = 64
  static let tableLimit = 200
  static let columnLimit = 200
  static let nameLimit = 63
  static let textLengths = 1...1_000_000

  /// Whether a table name is reserved for Holdfast or SQLite.
  package static func isReserved(table name: String) -> Bool {
    reservedTables.contains(name) || reservedTablePrefixes.contains { name.hasPrefix($0) }
  }

  /// Whether the name of a column is kept for Holdfast or SQLite.
  static func isReserved(column name: String) -> Bool {
    reservedColumns.contains(name) || name.hasPrefix(reservedColumnPrefix)
  }

  func faults() -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if name.isEmpty || name.utf8.count > Self.schemaNameLimit {
      faults.append(.init("name", "Give the schema a name of 1 to \(Self.schemaNameLimit) bytes."))
    }
    if tables.isEmpty { faults.append(.init("tables", "Declare at least one table.")) }
    if tables.count > Self.tableLimit {
      faults.append(
        .init("tables", "Declare at most \(Self.tableLimit) tables; there are \(tables.count)."))
    }
    var seen: TextSet = []
    for table in tables {
      let place = "tables.\(table.name)"
      faults += nameFaults(table.name, at: place, kind: "table")
      if Self.isReserved(table: table.name) {
        faults.append(.init(place, "The name is kept for Holdfast or SQLite itself; choose another."))
      }
      if !seen.insert(table.name).inserted {
        faults.append(.init(place, "The table is declared twice; keep one."))
      }
      faults += tableFaults(table, at: place)
    }
    return faults + formerTableFaults()
  }

  private func tableFaults(_ table: TableSchema, at place: String) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if table.columns.isEmpty { faults.append(.init("\(place).columns", "Declare at least one column.")) }
    if table.columns.count > Self.columnLimit {
      faults.append(.init("\(place).columns", "Declare at most \(Self.columnLimit) columns."))
    }
    var seen: TextSet = []
    for column in table.columns {
      let place = "\(place).columns.\(column.name)"
      faults += nameFaults(column.name, at: place, kind: "column")
      if Self.isReserved(column: column.name) {
        faults.append(.init(place, "The name is kept for Holdfast or SQLite itself; choose another."))
      }
      if !seen.insert(column.name).inserted {
        faults.append(.init(place, "The column is declared twice; keep one."))
      }
      faults += columnFaults(column, at: place) + listFaults(column, of: table, at: "\(place).within")
      faults += acrossFaults(column, of: table, at: "\(place).on_delete")
    }
    for (index, group) in table.unique.enumerated() {
      let place = "\(place).unique.\(index)"
      if group.isEmpty { faults.append(.init(place, "Name the columns that are unique together.")) }
      for name in group where table.index(of: name) == nil {
        faults.append(.init(place, "The table has no column \"\(name)\"; name one of its own."))
      }
    }
    return faults + formerColumnFaults(table, at: place) + indexFaults(table, at: "\(place).indexes")
      + zoneFaults(table, at: "\(place).zone")
  }

  private func columnFaults(_ column: ColumnSchema, at place: String) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if (column.type == .reference) != (column.reference != nil) {
      faults.append(
        .init("\(place).to", "A reference, and only a reference, says in \"to\" which table it points to."))
    }
    if let reference = column.reference {
      if !tables.contains(where: { $0.name == reference.table }) {
        faults.append(
          .init("\(place).to", "There is no table \"\(reference.table)\"; declare it, or correct the name."))
      }
      if reference.onDelete == .setNull, column.required {
        faults.append(
          .init("\(place).on_delete", "A required column can't become null; choose cascade or restrict."))
      }
      if column.defaultValue != nil {
        faults.append(.init("\(place).default", "A reference has no default; leave it out."))
      }
    }
    if let type = column.policy.columnType, type != column.type {
      faults.append(
        .init(
          "\(place).merge",
          "\(column.policy.rawValue) is for columns of type \(type.rawValue); choose another policy."))
    }
    if column.maximumLength != nil, column.type != .text {
      faults.append(.init("\(place).max_length", "Only texts have a length; leave it out."))
    }
    if let length = column.maximumLength, !Self.textLengths.contains(length) {
      faults.append(
        .init("\(place).max_length", "Give a length from 1 to \(Self.textLengths.upperBound)."))
    }
    if column.minimum != nil || column.maximum != nil, column.type != .integer {
      faults.append(.init(place, "Only integers have min and max; leave them out."))
    }
    if let minimum = column.minimum, let maximum = column.maximum, minimum > maximum {
      faults.append(
        .init("\(place).min", "No value is at least \(minimum) and at most \(maximum); widen the range."))
    }
    if !column.oneOf.isEmpty, column.type != .text {
      faults.append(.init("\(place).one_of", "Only texts have a list of values; leave it out."))
    }
    if let value = column.defaultValue, value != .null {
      do { try column.check(value) } catch {
        faults.append(.init("\(place).default", "The default does not fit the column: \(error.detail)"))
      }
    }
    return faults
  }

  /// The faults in the `within` of a position column.
  private func listFaults(_ column: ColumnSchema, of table: TableSchema, at place: String) -> [SchemaError
    .Fault]
  {
    guard let name = column.within else { return [] }
    if column.type != .position {
      return [.init(place, "Only a position belongs to a list; leave it out.")]
    }
    if table.columns.contains(where: { $0.name == name && $0.type == .reference }) { return [] }
    return [
      .init(place, "There is no reference column \"\(name)\" in the table; declare it, or name another.")
    ]
  }

  private func zoneFaults(_ table: TableSchema, at place: String) -> [SchemaError.Fault] {
    switch table.zone {
    case .root, .user: return []
    case .explicit, .server:
      return [.init(place, "Choose \"root\", \"user\", {\"parent\": COLUMN} or {\"public\": NAME}.")]
    case .public(let name): return nameFaults(name, at: "\(place).public", kind: "zone")
    case .parent(let name):
      guard let column = table.columns.first(where: { $0.name == name }), let reference = column.reference
      else {
        return [
          .init(
            "\(place).parent",
            "There is no reference column \"\(name)\" in the table; declare it, or name another.")
        ]
      }
      if !column.required || reference.onDelete == .setNull || reference.across {
        return [
          .init(
            "\(place).parent",
            "The column \"\(name)\" decides the zone: make it required, without across or set_null.")
        ]
      }
      return hasCycle(from: table)
        ? [
          .init(
            "\(place).parent",
            "The parents go round in a circle and reach no zone; end them at a root, user or public table.")
        ]
        : []
    }
  }

  private func hasCycle(from table: TableSchema) -> Bool {
    var table = table
    for _ in 0...tables.count {
      guard case .parent(let name) = table.zone,
        let reference = table.columns.first(where: { $0.name == name })?.reference,
        let parent = tables.first(where: { $0.name == reference.table })
      else { return false }
      table = parent
    }
    return true
  }

  func nameFaults(_ name: String, at place: String, kind: String) -> [SchemaError.Fault] {
    let isGood =
      (1...Self.nameLimit).contains(name.utf8.count)
      && name.utf8.first.map { (97...122).contains($0) } == true
      && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
    return isGood
      ? []
      : [
        .init(
          place,
          "A \(kind) is named with 1 to \(Self.nameLimit) of a-z, 0-9 and _, beginning with a letter; rename it."
        )
      ]
  }
}
