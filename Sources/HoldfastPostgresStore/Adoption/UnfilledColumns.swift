import HoldfastCore
import HoldfastPostgres

/// Columns of adopted tables that every row needs and no device can give.
enum UnfilledColumns {
  private static let find: PostgresStatement = """
    SELECT t.name, a.attname::text FROM holdfast.tables t
    JOIN pg_attribute a ON a.attrelid = to_regclass(t.relation) AND a.attnum > 0 AND NOT a.attisdropped
    WHERE t.adopted AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AND a.attname <> 'id'
    ORDER BY t.name, a.attnum
    """

  /// Says which they are, one line each, with what to do about them. A trigger of the team may fill them.
  static func notes(_ schema: SyncSchema, on connection: PostgresConnection) throws(PostgresError) -> [String]
  {
    let rows = try connection.query(find)
    return rows.indices.compactMap { row in
      let (table, column) = (rows.text(row, 0), rows.text(row, 1))
      guard let known = schema.tables.first(where: { $0.name == table }),
        !known.columns.contains(where: { $0.name == column })
      else { return nil }
      return
        "\(table).\(column) is NOT NULL, has no default, and is not in the schema: devices can't make records of \(table) unless a trigger fills it. Give it a default, or drop it."
    }
  }
}
