import HoldfastCore
import HoldfastSQLite

/// What a transaction made of one record.
struct UndoneRecord: Equatable {
  let table: String
  let id: String
  let zone: SQLiteValue
  /// The columns before; nil when the record was not there. Of an update those that changed alone.
  let before: TextMap<SQLiteValue>?
  /// The same, after.
  let after: TextMap<SQLiteValue>?
}

extension UndoneRecord {
  /// What lies between two states of a record; nil when nothing does.
  init?(_ table: String, _ id: String, from before: RecordState?, to after: RecordState?) {
    guard let zone = (after ?? before)?.zone else { return nil }
    (self.table, self.id, self.zone) = (table, id, zone)
    guard let before, let after else {
      (self.before, self.after) = (before?.values, after?.values)
      return
    }
    let changed = after.values.filter { $0.value != before.values[$0.key] }
    if changed.isEmpty { return nil }
    self.before = before.values.filter { changed[$0.key] != nil }
    self.after = changed
  }

  var json: JSONValue {
    func columns(_ values: TextMap<SQLiteValue>?) -> JSONValue {
      guard let values else { return .null }
      return .object(values.sorted { $0.key < $1.key }.map { .init($0.key, Self.json($0.value)) })
    }
    return .object([
      .init("table", .string(table)), .init("id", .string(id)), .init("zone", Self.json(zone)),
      .init("before", columns(before)), .init("after", columns(after)),
    ])
  }

  init?(_ json: JSONValue, _ schema: SyncSchema) {
    guard let table = json["table"]?.stringValue, let id = json["id"]?.stringValue,
      let columns = schema.table(table)?.columns
    else { return nil }
    func values(_ json: JSONValue?) -> TextMap<SQLiteValue>? {
      guard let members = json?.members else { return nil }
      return TextMap(
        members.map { member in
          (member.name, Self.value(member.value, columns.first { $0.name == member.name }?.type))
        }, uniquingKeysWith: { $1 })
    }
    self.init(
      table: table, id: id, zone: Self.value(json["zone"] ?? .null, nil), before: values(json["before"]),
      after: values(json["after"]))
  }

  // In the form of SQLite, not of the wire: what is compared is what the database holds.
  private static func json(_ value: SQLiteValue) -> JSONValue {
    switch Value(value) {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let text): .string(text)
    }
  }

  private static func value(_ json: JSONValue, _ type: ColumnType?) -> SQLiteValue {
    switch json {
    case .integer(let number): type == .real ? .real(Double(number)) : .integer(number)
    case .real(let number): .real(number)
    case .string(let text): .text(text)
    case .null, .bool, .array, .object: .null
    }
  }
}
