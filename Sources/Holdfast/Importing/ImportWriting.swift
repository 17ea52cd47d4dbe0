import HoldfastCore
import HoldfastSQLite

/// Writing imported records, inside one transaction of the store.
struct ImportWriting {
  /// How long a record waits for those that it refers to.
  enum Patience: CaseIterable {
    /// Until all of them are in the store.
    case all
    /// Until those are that it must refer to.
    case required
    /// No longer.
    case none
  }

  /// What came of a record.
  enum Outcome {
    case created, updated, kept, deleted
    /// It is deleted in the other database, and not in the store.
    case absent
    /// It refers to a record that is not in the store yet.
    case waits
    case leftOut(String)
  }

  let database: Database
  let namespace: String
  let isUpdating: Bool
  let patience: Patience
  /// A reference that a record was imported without, as the record that it names was not in the store.
  struct LateReference {
    let record: ImportedRecord
    let id: String
    let column: String
    let table: String
    let target: String
    /// What is wrong if the other never comes.
    let reason: String
  }

  /// Those that were left out so.
  private(set) var late: [LateReference] = []
  /// The values that a record was imported without, with the reasons.
  private(set) var losses: [(record: ImportedRecord, reason: String)] = []

  init(_ database: Database, namespace: String, isUpdating: Bool, patience: Patience) {
    self.database = database
    self.namespace = namespace
    self.isUpdating = isUpdating
    self.patience = patience
  }

  /// The id of a record: its key where that is a UUID, else one that every import of the same namespace derives.
  static func id(of key: String, in table: String, _ namespace: String) -> String {
    let plain = key.lowercased()
    return Identifier.isUUID(plain) ? plain : Identifier.derived(from: [namespace, table, key])
  }

  /// Writes a record, unless it is in the store and stays as it is.
  mutating func write(_ record: ImportedRecord) throws -> Outcome {
    guard let table = database.schema.table(record.table), !table.isBuiltIn else {
      return .leftOut("The schema has no table \"\(record.table)\".")
    }
    if record.key.isEmpty { return .leftOut("The record has no key.") }
    let id = Self.id(of: record.key, in: table.name, namespace)
    let before = try row(id, of: table)
    if record.isDeleted {
      guard before != nil else { return .absent }
      guard isUpdating else { return .kept }
      try database.execute("DELETE FROM \"\(table.name)\" WHERE \"id\" = ?", [.text(id)])
      return .deleted
    }
    if before != nil, !isUpdating { return .kept }
    var reading = ValueReading(record: record, id: id)
    for column in table.columns {
      if let outcome = try read(column, into: &reading) { return outcome }
    }
    losses += reading.reasons.map { (record, $0) }
    late += reading.late
    guard let before else {
      let names = ["\"id\""] + reading.values.map { "\"\($0.name)\"" }
      let columns = names.joined(separator: ", ")
      let marks = names.map { _ in "?" }.joined(separator: ", ")
      try database.execute(
        "INSERT INTO \"\(table.name)\" (\(columns)) VALUES (\(marks))",
        [.text(id)] + reading.values.map(\.value))
      return .created
    }
    let changed = reading.values.filter { value in
      table.index(of: value.name).map { before[$0] } != value.value
    }
    if changed.isEmpty { return .kept }
    let settings = changed.map { "\"\($0.name)\" = ?" }.joined(separator: ", ")
    try database.execute(
      "UPDATE \"\(table.name)\" SET \(settings) WHERE \"id\" = ?", changed.map(\.value) + [.text(id)])
    return .updated
  }

  /// The values of one record, as far as they were read.
  private struct ValueReading {
    let record: ImportedRecord
    let id: String
    var values: [(name: String, value: SQLiteValue)] = []
    var reasons: [String] = []
    var late: [LateReference] = []
  }

  /// Reads the value of a column.
  ///
  /// - Returns: what becomes of the whole record, where the value decides that.
  private func read(_ column: ColumnSchema, into reading: inout ValueReading) throws -> Outcome? {
    let given = reading.record.columns[column.name] ?? .null
    guard given != .null else {
      let isNamed = reading.record.columns[column.name] != nil
      if !column.required {
        if isNamed { reading.values.append((column.name, .null)) }
        return nil
      }
      return column.defaultValue ?? .null == .null ? .leftOut("\(column.name) has no value.") : nil
    }
    let value: SQLiteValue
    var reason: String?
    if let reference = column.reference {
      let key = ImportedValue.key(given) ?? ""
      let target = Self.id(of: key, in: reference.table, namespace)
      let isHere = target == reading.id ? true : try isHere(target, in: reference.table)
      if !isHere, patience == .all || (patience == .required && column.required) { return .waits }
      value = isHere ? .text(target) : .null
      if !isHere {
        let missing = "\(column.name) names the record \(key) of \(reference.table), which does not exist."
        if !column.required {
          // It may come after this one, as in a circle.
          reading.late.append(
            LateReference(
              record: reading.record, id: reading.id, column: column.name, table: reference.table,
              target: target, reason: missing))
          return nil
        }
        reason = missing
      }
    } else {
      value = ImportedValue.convert(given, for: column) ?? .null
      if value == .null { reason = "\(column.name) must be of type \(column.type.rawValue)." }
      do { if value != .null { try column.check(Value(value)) } } catch {
        reason = error.detail
      }
    }
    guard let reason else {
      reading.values.append((column.name, value))
      return nil
    }
    if column.required, column.reference != nil || column.defaultValue ?? .null == .null {
      return .leftOut(reason)
    }
    reading.reasons.append(reason)
    return nil
  }

  /// Sets a reference that was left out, if the record that it names has come.
  ///
  /// - Returns: whether it has.
  func set(_ reference: LateReference) throws -> Bool {
    guard try isHere(reference.target, in: reference.table) else { return false }
    try database.execute(
      "UPDATE \"\(reference.record.table)\" SET \"\(reference.column)\" = ? WHERE \"id\" = ?",
      [.text(reference.target), .text(reference.id)])
    return true
  }

  private func row(_ id: String, of table: TableSchema) throws -> [SQLiteValue]? {
    let names = table.columns.map { "\"\($0.name)\"" }.joined(separator: ", ")
    return try database.rows("SELECT \(names) FROM \"\(table.name)\" WHERE \"id\" = ?", [.text(id)]).rows
      .first
  }

  private func isHere(_ id: String, in table: String) throws -> Bool {
    try !database.rows("SELECT 1 FROM \"\(table)\" WHERE \"id\" = ?", [.text(id)]).rows.isEmpty
  }
}
