/// Parses the operations of change sets, and checks them against the schema.
///
/// Invalid JSON throws. An invalid operation in valid JSON returns a `Problem`, so that only its change set is refused.
package struct OperationReader: Sendable {
  let schema: SyncSchema

  /// Creates a reader for a schema.
  package init(schema: SyncSchema) { self.schema = schema }

  /// Reads one operation.
  ///
  /// - Throws: `JSONError` for invalid JSON.
  package func read(_ reader: inout JSONReader) throws -> Result<RecordOperation, Problem> {
    guard try reader.peekKind() == .object else {
      try reader.skipValue()
      return .failure(Problem(.invalidOperation, "An operation is an object."))
    }
    var fields = Fields()
    try reader.readObject { key, reader in try fields.take(key, from: &reader) }
    do { return .success(try operation(fields)) } catch let problem as Problem {
      return .failure(problem)
    } catch let error as JSONError {
      // The grammar was checked above. So the value is a number out of range, and the text is valid.
      return .failure(Problem(.invalidValue, error.description))
    }
  }

  private func operation(_ fields: Fields) throws -> RecordOperation {
    if let wrong = fields.wrong {
      throw Problem(.invalidOperation, "\(wrong) has a wrong type or is not known.")
    }
    guard let kind = fields.kind.flatMap(RecordOperation.Kind.init) else {
      throw Problem(.invalidOperation, "op must be create, update or delete.")
    }
    guard let name = fields.table else { throw Problem(.invalidOperation, "table is missing.") }
    guard let table = schema.index(called: name) else { throw Problem(.unknownTable, name) }
    if schema.tables[table].zone == .server, kind != .update { throw Problem(.readOnlyTable, name) }
    guard let id = fields.id else { throw Problem(.invalidOperation, "id is missing.") }
    // Other operations may name another id: records of adopted tables, or those made by SQL, have ids of any form.
    guard kind == .create ? Identifier.isUUID(id) : Identifier.isPossible(id) else {
      throw Problem(.invalidID, "id of an operation on \(name).")
    }
    guard let stamp = fields.stamp else {
      throw Problem(.invalidOperation, "at must be 16 hex digits.")
    }
    guard fields.rev >= 0 else { throw Problem(.invalidOperation, "rev must not be negative.") }
    let (settings, zone, isPartial) = try settings(fields, kind: kind, table: schema.tables[table])
    try schema.tables[table].checkWritable(settings)
    return RecordOperation(
      kind: kind, table: table, id: id, rev: fields.rev, stamp: stamp, settings: settings, zone: zone,
      isPartial: isPartial)
  }

  private func settings(
    _ fields: Fields, kind: RecordOperation.Kind, table: TableSchema
  ) throws -> ([RecordOperation.Setting], zone: String?, isPartial: Bool) {
    var zone: String?
    var isPartial = false
    var values =
      try fields.columns.map { columns in
        try table.values(in: columns) { key, reader in
          // An app with another schema sends null for each column without a value in a new record.
          if kind == .create, try reader.peekKind() == .null, table.index(called: key) == nil {
            isPartial = true
            return true
          }
          guard table.zone == .explicit, key == "zone", try reader.peekKind() == .string else { return false }
          zone = try reader.readString()
          return true
        }
      } ?? table.noValues
    if let zone, !Identifier.isPossible(zone) {
      throw Problem(.invalidID, "zone of a record in \(table.name).")
    }
    let bases = try bases(fields, table)
    switch kind {
    case .create:
      if table.zone == .explicit, zone == nil {
        throw Problem(.valueMissing, "zone is required in \(table.name).")
      }
      values = try table.completed(values)
    case .update:
      if zone != nil {
        throw Problem(.invalidOperation, "The zone of a record in \(table.name) can't change.")
      }
    case .delete:
      if fields.columns != nil { throw Problem(.invalidOperation, "A delete has no columns.") }
    }
    var settings: [RecordOperation.Setting] = []
    settings.reserveCapacity(values.count)
    for (column, value) in values.enumerated() {
      guard let value else { continue }
      settings.append(RecordOperation.Setting(column: column, value: value, base: bases?[column] ?? nil))
    }
    return (settings, zone, isPartial)
  }

  /// The values before the edit on its device; nil if none was sent.
  private func bases(_ fields: Fields, _ table: TableSchema) throws -> [Value?]? {
    guard let base = fields.base else { return nil }
    var bases = [Value?](repeating: nil, count: table.columns.count)
    try JSONReader.read(base) { reader in
      try reader.readObject { key, reader in
        guard let index = table.index(called: key) else { return }
        bases[index] = try? table.columns[index].value(from: &reader)
      }
    }
    return bases
  }
}

/// The members of an operation, parsed before its table is known.
private struct Fields {
  var kind: String?
  var table: String?
  var id: String?
  var stamp: Stamp?
  var rev: Int64 = 0
  var columns: UnsafeBufferPointer<UInt8>?
  var base: UnsafeBufferPointer<UInt8>?
  var wrong: String?

  mutating func take(_ key: JSONKey, from reader: inout JSONReader) throws {
    let kind = try reader.peekKind()
    switch (key, kind) {
    case ("op", .string): self.kind = try reader.readString()
    case ("table", .string): table = try reader.readString()
    case ("id", .string): id = try reader.readString()
    case ("at", .string): stamp = try reader.readStringBytes { Stamp(utf8: $0) }
    case ("rev", .number):
      if case .integer(let number) = try reader.readNumber() { rev = number } else { wrong = "rev" }
    case ("columns", .object): columns = try reader.readRawValue()
    case ("base", .object): base = try reader.readRawValue()
    default:
      wrong = String(key.string.prefix(64))
      try reader.skipValue()
    }
  }
}
