import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// A query as an SQLite statement. Its first parameter is the JSON array of the zones.
struct SQLiteQueryStatement {
  let sql: String
  /// The values of the parameters after the zones, in order.
  private(set) var values: [Value] = []

  /// - Parameter limit: the maximum number of ids.
  init(_ query: RecordQuery, in schema: SyncSchema, limit: Int) {
    let table = schema.tables[query.table]
    var values: [Value] = []
    let source: String
    var conditions: [String] = []
    // A unary + keeps SQLite from using the column's own index.
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

  /// The access path to the records.
  private enum Way {
    /// One zone at a time, by an index that begins with the zone; nil for the table itself.
    case zones(String?)
    /// By an index across zones.
    case records(String)
  }

  private static func way(_ query: RecordQuery, _ table: TableSchema) -> Way {
    switch query.index?.kind {
    case nil: return .zones(nil)
    case .unique(let number): return .zones(SQLiteTables.uniqueIndex(number, of: table.name))
    case .declared(let number):
      return .zones(SQLiteTables.indexName(table.serverIndexes[number], of: table.name))
    case .reference(let column):
      // For comparisons and nulls, this index would read the records of all users.
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
    // A range that the index can serve; it cannot serve IS NOT NULL.
    case .isNotNull: return "\(column) >= \(type.least)"
    case .above(let value, let orEqual): return "\(column) >\(orEqual ? "=" : "") \(place(value))"
    case .below(let value, let orEqual): return "\(column) <\(orEqual ? "=" : "") \(place(value))"
    }
  }
}

extension ColumnType {
  /// The least value of a column, as an SQL literal.
  fileprivate var least: String {
    switch self {
    case .integer, .boolean: "-9223372036854775808"
    case .real: "-9e999"
    case .text, .timestamp, .json, .reference, .position: "''"
    }
  }
}
