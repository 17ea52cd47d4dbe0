import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Looks for values that the schema does not allow, in all records. It reads them through a cursor, as they need not fit into memory.
struct PostgresValueDoubts {
  private static let portion = 1000

  private let schema: SyncSchema
  private let layout: PostgresLayout
  private let connection: PostgresConnection

  /// - Parameter connection: is in a transaction.
  init(_ schema: SyncSchema, _ layout: PostgresLayout, on connection: PostgresConnection) {
    (self.schema, self.layout, self.connection) = (schema, layout, connection)
  }

  /// A line for each column with such values.
  func findings() throws(PostgresError) -> [Finding] {
    var findings: [Finding] = []
    for index in schema.tables.indices where !schema.tables[index].isBuiltIn {
      findings += try self.findings(in: index)
    }
    return findings
  }

  private func findings(in index: Int) throws(PostgresError) -> [Finding] {
    let (table, relation) = (schema.tables[index], layout.relations[index])
    var doubts = ValueDoubts(table)
    let columns = relation.columns.map { ", (\($0.read))::text" }.joined()
    try connection.execute(
      "DECLARE holdfast_values NO SCROLL CURSOR FOR SELECT t.id::text\(columns) FROM \(relation.name) t")
    var isLast = false
    while !isLast {
      let rows = try connection.queryOnce(
        PostgresStatement("FETCH \(Self.portion) FROM holdfast_values"))
      for row in rows.indices {
        let values = table.columns.indices.map { column -> Value? in
          guard let text = rows.optionalText(row, column + 1) else { return .null }
          return Value(postgresText: text, type: table.columns[column].type)
        }
        doubts.check(rows.text(row, 0), values)
      }
      isLast = rows.indices.count < Self.portion
    }
    try connection.execute("CLOSE holdfast_values")
    return doubts.findings
  }
}

extension Value {
  /// The value of a column that was read as text; nil if the type has no such value.
  fileprivate init?(postgresText text: String, type: ColumnType) {
    switch type {
    case .integer:
      guard let number = Int64(text) else { return nil }
      self = .integer(number)
    case .boolean: self = .integer(text == "true" ? 1 : 0)
    case .real:
      guard let number = Double(text) else { return nil }
      self = .real(number)
    case .text, .timestamp, .json, .reference, .position: self = .text(text)
    }
  }
}
