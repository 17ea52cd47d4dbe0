import HoldfastCore
import HoldfastSQLite

/// Gives imported records positions, in the order that they had in the other database.
struct ImportPlacing {
  /// One list of the store.
  private struct List: Hashable {
    let table: Int
    let column: Int
    /// The key of the record that those of the list refer to; empty where the list is a zone.
    let parent: TextKey
  }

  let database: Database
  let namespace: String
  private var schema: SyncSchema { database.schema }

  /// Whether a value is a position of this library, which is taken as it is.
  static func isPosition(_ value: SQLiteValue) -> Bool {
    value.text.map { (try? Position(validating: $0)) != nil } ?? false
  }

  /// The records, with positions for all that have a number or must have a position: the one that it has in the store, where it stays in its list;
  /// else one behind all that are in the store.
  func placed(_ records: [ImportedRecord]) throws -> [ImportedRecord] {
    var records = records
    var lists: [List: [Int]] = [:]
    for (number, record) in records.enumerated() {
      guard let table = schema.index(of: record.table) else { continue }
      for (index, column) in schema.tables[table].columns.enumerated() where column.type == .position {
        let given = record.columns[column.name] ?? .null
        if Self.isPosition(given) || (given == .null && !column.required) { continue }
        let list = List(table: table, column: index, parent: parent(of: record, table, index))
        if let place = try place(of: record, in: list) {
          records[number].columns[column.name] = .text(place)
        } else {
          lists[list, default: []].append(number)
        }
      }
    }
    for (list, members) in lists {
      let name = column(list)
      // In the order of the numbers; those without one last.
      let sorted = members.map { (Self.number(records[$0].columns[name]), $0) }.sorted { $0 < $1 }
      // Devices that import the same records make the same positions, so that they do not conflict.
      let seed = Fingerprint(of: namespace, schema.tables[list.table].name, name, list.parent.text).value
      let positions = Position.run(
        count: sorted.count, between: try last(list), and: nil, replica: .init(random: seed), nonce: seed)
      for (member, position) in zip(sorted, positions) {
        records[member.1].columns[name] = .text(position.string)
      }
    }
    return records
  }

  private func parent(of record: ImportedRecord, _ table: Int, _ column: Int) -> TextKey {
    guard let list = schema.tables[table].list(of: column) else { return TextKey("") }
    return TextKey(
      record.columns[schema.tables[table].columns[list].name].flatMap(ImportedValue.key) ?? "")
  }

  /// The position of a record in a list of the store; nil when it has none.
  private func place(of record: ImportedRecord, in list: List) throws -> String? {
    if record.isDeleted { return nil }
    let id = ImportWriting.id(of: record.key, in: schema.tables[list.table].name, namespace)
    return try value("\"\(column(list))\"", in: list, "\"id\" = ?", [.text(id)])
  }

  /// The last position of a list in the store.
  private func last(_ list: List) throws -> Position? {
    try value("max(\"\(column(list))\")", in: list, "true").flatMap { try? Position(validating: $0) }
  }

  private func column(_ list: List) -> String { schema.tables[list.table].columns[list.column].name }

  /// A text that SQL finds in a list of the store.
  private func value(_ text: String, in list: List, _ condition: String, _ arguments: [SQLiteValue] = [])
    throws -> String?
  {
    let table = schema.tables[list.table]
    var sql = "SELECT \(text) FROM \"\(table.name)\" WHERE \(condition)"
    var arguments = arguments
    if let parent = table.list(of: list.column).map({ table.columns[$0] }), let reference = parent.reference {
      sql += " AND \"\(parent.name)\" IS ?"
      let key = list.parent.text
      let id = ImportWriting.id(of: key, in: reference.table, namespace)
      arguments.append(key.isEmpty ? .null : .text(id))
    }
    return try database.rows(sql, arguments).rows.first?.first?.text
  }

  private static func number(_ value: SQLiteValue?) -> Double {
    switch value {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: .infinity
    }
  }
}
