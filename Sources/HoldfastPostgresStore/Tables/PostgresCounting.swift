package import HoldfastCore
package import HoldfastPostgres
import HoldfastService

/// What the zones hold, worked out from tables and ledger in PostgreSQL. A row of the ledger keeps the size of its record, so that what a
/// record is counted with is known when its table has another value already, or none.
package struct PostgresCounting {
  package let layout: PostgresLayout
  package let connection: PostgresConnection

  package init(layout: PostgresLayout, connection: PostgresConnection) {
    (self.layout, self.connection) = (layout, connection)
  }

  /// Makes the ledger say what the tables say, and the zones' rows what the ledger says. In the transaction of the connection; nobody writes
  /// until its commit.
  ///
  /// - Returns: how many zones said something else.
  @discardableResult
  package func mend() throws(PostgresError) -> Int {
    try connection.execute("LOCK TABLE holdfast.zones IN EXCLUSIVE MODE")
    for relation in layout.relations {
      try connection.execute(
        """
        UPDATE holdfast.records r SET size = \(Self.size(of: relation)) FROM \(relation.name) t
        WHERE r.record_table = \(PostgresName.literal(relation.table)) AND r.state = 0 AND r.id = t.id::text
          \(relation.hasZone ? "AND r.zone = t.zone " : "")AND r.size <> \(Self.size(of: relation))
        """)
    }
    try connection.execute("UPDATE holdfast.records SET size = 0 WHERE state > 0 AND size <> 0")
    return try connection.query(
      PostgresStatement(
        """
        UPDATE holdfast.zones z SET records = k.held, bytes = k.size FROM (\(Self.differences)) k WHERE z.zone = k.zone
        RETURNING z.zone
        """)
    ).count
  }

  /// The zones whose rows say something else than the ledger, with what it says.
  package static let differences = """
    SELECT y.zone, \(held) AS held, \(bytes) AS size FROM holdfast.zones y
    LEFT JOIN holdfast.records r ON r.zone = y.zone AND r.state = 0
    GROUP BY y.zone, y.records, y.bytes HAVING y.records <> \(held) OR y.bytes <> \(bytes)
    """
  private static let held = "count(r.id) FILTER (WHERE r.record_table <> '\(TableSchema.conflicts.name)')"
  private static let bytes = "coalesce(sum(r.size), 0)::bigint"

  /// The records of a table whose size is another than the ledger's. A team's own types may give a value in another form than it was written
  /// in, so those of its tables are not compared.
  static func wrongSizes(of relation: PostgresLayout.Relation) -> String? {
    if !relation.hasZone { return nil }
    return """
      SELECT r.id FROM holdfast.records r JOIN \(relation.name) t ON t.zone = r.zone AND t.id = r.id
      WHERE r.record_table = \(PostgresName.literal(relation.table)) AND r.state = 0 AND r.size <> \(size(of: relation))
      """
  }

  /// The bytes of a row `t`.
  private static func size(of relation: PostgresLayout.Relation) -> String {
    size(id: "t.id::text", relation.columns.map { ("t.\($0.name)", $0.read, $0.type) })
  }

  /// The bytes that a record comes to, as `Record.bytes` has them.
  ///
  /// - Parameter columns: the expression of each, and the one that reads it as a value of the wire.
  package static func size(id: String, _ columns: [(value: String, read: String, type: ColumnType)]) -> String
  {
    "octet_length(\(id))::bigint"
      + columns.map { column in
        switch column.type {
        case .integer, .real, .boolean: " + CASE WHEN \(column.value) IS NULL THEN 0 ELSE 8 END"
        // It has one form.
        case .timestamp: " + CASE WHEN \(column.value) IS NULL THEN 0 ELSE 24 END"
        case .text, .json, .reference, .position: " + coalesce(octet_length(\(column.read)), 0)"
        }
      }.joined()
  }
}

extension PostgresRelation {
  /// The bytes that a row comes to.
  ///
  /// - Parameters:
  ///   - row: the alias of the row.
  ///   - table: the table of the schema.
  package func size(_ row: String, of table: TableSchema) -> String {
    PostgresCounting.size(
      id: id.id(row),
      zip(columns, table.columns).map { ("\(row).\($0.quoted)", $0.read(row), $1.type) })
  }
}
