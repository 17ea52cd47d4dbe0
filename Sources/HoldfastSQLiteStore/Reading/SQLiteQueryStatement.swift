import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// A query of an index as a statement of SQLite. The zones are its first parameter, as the text of a JSON array.
struct SQLiteQueryStatement {
  let sql: String
  /// The values of the parameters behind the zones, in their order.
  private(set) var values: [Value] = []

  /// - Parameter limit: how many ids at the most.
  init(_ query: RecordQuery, in schema: SyncSchema, limit: Int) {
    let table = schema.tables[query.table]
    var values: [Value] = []
    let source: String
    var conditions: [String] = []
    // A column behind a + is not looked up in an index of its own.
    var mark = ""
    switch Self.way(query, table) {
    case .zones(let index):
      source = "json_each(?1) z CROSS JOIN \"\(table.name)\" t" + (index.map { " INDEXED BY \($0)" } ?? "")
      conditions.append("t.\"zone\" = z.value")
      if index == nil { mark = "+" }
    case .records(let index):
      source = "\"\(table.name)\" t INDEXED BY \(index)"
      conditions.append("t.\"zone\" IN (SELECT value FROM json_each(?1))")
    }
    for filter in query.filters {
      let column = table.columns[filter.column]
      conditions.append(Self.condition(filter.test, "\(mark)t.\"\(column.name)\"", column.type, &values))
    }
    var order = query.order.map { step in
      "t.\"\(step.column.map { table.columns[$0].name } ?? "id")\"" + (step.isDescending ? " DESC" : "")
    }
    order.append("t.\"id\"")
    sql = """
      SELECT t."id" FROM \(source) WHERE \(conditions.joined(separator: " AND ")) \
      ORDER BY \(order.joined(separator: ", ")) LIMIT \(limit)
      """
    self.values = values
  }

  /// How the records are come by.
  private enum Way {
    /// A zone at a time, through an index that begins with the zone, or, with none, the table itself.
    case zones(String?)
    /// Through an index that does not know of zones.
    case records(String)
  }

  private static func way(_ query: RecordQuery, _ table: TableSchema) -> Way {
    switch query.index?.kind {
    case nil: return .zones(nil)
    case .unique(let number): return .zones(SQLiteTables.uniqueIndex(number, of: table.name))
    case .declared(let number):
      return .zones(SQLiteTables.indexName(table.serverIndexes[number], of: table.name))
    case .reference(let column):
      // Comparisons and nulls would go through the records of everybody.
      guard query.filters.contains(where: { $0.column == column && $0.picksReferences }) else {
        return .zones(nil)
      }
      return .records("\"holdfast_\(table.name)_of_\(table.columns[column].name)\"")
    }
  }

  private static func condition(
    _ test: RecordFilter.Test, _ column: String, _ type: ColumnType, _ values: inout [Value]
  ) -> String {
    func place(_ value: Value) -> String {
      values.append(value)
      return "?\(values.count + 1)"
    }
    switch test {
    case .equal(let value): return "\(column) = \(place(value))"
    case .among(let list): return "\(column) IN (\(list.map { place($0) }.joined(separator: ", ")))"
    case .isNull: return "\(column) IS NULL"
    // A range of the index, which IS NOT NULL is not.
    case .isNotNull: return "\(column) >= \(type.least)"
    case .above(let value, let orEqual): return "\(column) >\(orEqual ? "=" : "") \(place(value))"
    case .below(let value, let orEqual): return "\(column) <\(orEqual ? "=" : "") \(place(value))"
    }
  }
}

extension ColumnType {
  /// The least value of a column, as it stands in SQL.
  fileprivate var least: String {
    switch self {
    case .integer, .boolean: "-9223372036854775808"
    case .real: "-9e999"
    case .text, .timestamp, .json, .reference, .position: "''"
    }
  }
}
