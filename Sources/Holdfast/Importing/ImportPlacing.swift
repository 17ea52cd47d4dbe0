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

  /// The records, with a position behind all that are in the store for each that has a number or must have one.
  func placed(_ records: [ImportedRecord]) throws -> [ImportedRecord] {
    var records = records
    var lists: [List: [Int]] = [:]
    for (number, record) in records.enumerated() {
      guard let table = schema.index(of: record.table) else { continue }
      for (index, column) in schema.tables[table].columns.enumerated() where column.type == .position {
        let given = record.columns[column.name] ?? .null
        if Self.isPosition(given) || (given == .null && !column.required) { continue }
        lists[List(table: table, column: index, parent: parent(of: record, table, index)), default: []]
          .append(number)
      }
    }
    for (list, members) in lists {
      let name = schema.tables[list.table].columns[list.column].name
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

  /// The last position of a list in the store.
  private func last(_ list: List) throws -> Position? {
    let table = schema.tables[list.table]
    let position = table.columns[list.column].name
    var condition = ""
    var arguments: [SQLiteValue] = []
    if let parent = table.list(of: list.column).map({ table.columns[$0] }), let reference = parent.reference {
      condition = "WHERE \"\(parent.name)\" IS ?"
      let key = list.parent.text
      let id = ImportWriting.id(of: key, in: reference.table, namespace)
      arguments = [key.isEmpty ? .null : .text(id)]
    }
    let sql = "SELECT max(\"\(position)\") FROM \"\(table.name)\" \(condition)"
    let text = try database.rows(sql, arguments).rows.first?.first?.text
    return text.flatMap { try? Position(validating: $0) }
  }

  private static func number(_ value: SQLiteValue?) -> Double {
    switch value {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: .infinity
    }
  }
}
