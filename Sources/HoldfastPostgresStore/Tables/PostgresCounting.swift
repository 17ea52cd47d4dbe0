package import HoldfastCore
package import HoldfastPostgres
import HoldfastService

/// Computes the counts of zones from tables and ledger in PostgreSQL. A ledger row stores the size of its record, so that the counted size
/// is known even after the table has changed.
package struct PostgresCounting {
  package let layout: PostgresLayout
  package let connection: PostgresConnection

  package init(layout: PostgresLayout, connection: PostgresConnection) {
    (self.layout, self.connection) = (layout, connection)
  }

  /// Corrects the sizes in the ledger from the tables, and the counts of the zones from the ledger. Runs in the connection's transaction,
  /// and locks out writers until its commit.
  ///
  /// - Returns: the number of corrected zones.
  @discardableResult
  package func mend() throws(PostgresError) -> Int {
    try connection.execute("LOCK TABLE holdfast.zones IN EXCLUSIVE MODE")
    for relation in layout.relations {
      try connection.execute(
        """
        UPDATE holdfast.records r SET size = \(Self.size(of: relation)) FROM \(relation.name) t
        WHERE r.record_table = \(PostgresName.literal(relation.table)) AND r.state = 0 AND r.id = \(relation.id("t"))
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

  /// The zones with wrong counts, and the correct counts by the ledger.
  package static let differences = """
    SELECT y.zone, \(held) AS held, \(bytes) AS size FROM holdfast.zones y
    LEFT JOIN holdfast.records r ON r.zone = y.zone AND r.state = 0
    GROUP BY y.zone, y.records, y.bytes HAVING y.records <> \(held) OR y.bytes <> \(bytes)
    """
  private static let held = "count(r.id) FILTER (WHERE r.record_table <> '\(TableSchema.conflicts.name)')"
  private static let bytes = "coalesce(sum(r.size), 0)::bigint"

  /// Selects the records of a table with wrong sizes in the ledger. Nil for a team's own table: its types may change the form of a value,
  /// so its sizes are not compared.
  static func wrongSizes(of relation: PostgresLayout.Relation) -> String? {
    if !relation.hasZone { return nil }
    return """
      SELECT r.id FROM holdfast.records r JOIN \(relation.name) t ON t.zone = r.zone AND t.id = r.id
      WHERE r.record_table = \(PostgresName.literal(relation.table)) AND r.state = 0 AND r.size <> \(size(of: relation))
      """
  }

  /// The size of a row `t`.
  private static func size(of relation: PostgresLayout.Relation) -> String {
    size(id: "t.id::text", relation.columns.map { ("t.\($0.name)", $0.read, $0.type) })
  }

  /// The size of a record in bytes, as `StoredRecord.bytes` computes it.
  ///
  /// - Parameter columns: the expression of each column, and the one that reads it as the wire's value.
  package static func size(id: String, _ columns: [(value: String, read: String, type: ColumnType)]) -> String
  {
    "octet_length(\(id))::bigint"
      + columns.map { column in
        switch column.type {
        case .integer, .real, .boolean: " + CASE WHEN \(column.value) IS NULL THEN 0 ELSE 8 END"
        // Timestamps have a fixed length.
        case .timestamp: " + CASE WHEN \(column.value) IS NULL THEN 0 ELSE 24 END"
        case .text, .json, .reference, .position: " + coalesce(octet_length(\(column.read)), 0)"
        }
      }.joined()
  }
}

extension PostgresRelation {
  /// The size of a row in bytes.
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
