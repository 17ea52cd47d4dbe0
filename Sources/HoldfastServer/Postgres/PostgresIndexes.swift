import HoldfastCore
import HoldfastPostgres

/// What is made after the opening's transaction, as it would keep writers out while it lasts: indexes of reference columns that were added
/// to tables with records, and the check of their foreign keys.
enum PostgresIndexes {
  /// Makes what is missing. Another node that starts at the same time leaves it to this one; what is left undone by a crash is done at the
  /// next opening.
  static func make(_ tables: PostgresTables, on connection: PostgresConnection) throws(PostgresError) {
    var missing: [Schema.Link] = []
    for link in tables.schema.links where try !has(tables.indexName(for: link), tables, link, connection) {
      missing.append(link)
    }
    if missing.isEmpty { return }
    let lock = try connection.query("SELECT pg_try_advisory_lock(5216694956356254583)")
    guard lock.bool(0, 0) else { return }
    for link in missing {
      try connection.execute(
        "DROP INDEX CONCURRENTLY IF EXISTS \(qualified(tables.indexName(for: link), tables, link))")
      try connection.execute(tables.index(for: link, concurrently: true))
      if let validation = tables.validation(of: link) { try connection.execute(validation) }
    }
    try connection.execute("SELECT pg_advisory_unlock(5216694956356254583)")
  }

  /// Whether there is a valid index. In an adopted table indexes are the team's.
  private static func has(
    _ index: String, _ tables: PostgresTables, _ link: Schema.Link, _ connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    let rows = try connection.query(
      """
      SELECT (SELECT adopted FROM holdfast.tables WHERE name = $2)
        OR EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass($1) AND i.indisvalid)
      """,
      PostgresParameters(qualified(index, tables, link), tables.schema.tables[link.table].name))
    return rows.bool(0, 0)
  }

  /// An index is in the schema of its table.
  private static func qualified(_ index: String, _ tables: PostgresTables, _ link: Schema.Link) -> String {
    let relation = tables.relation(of: link.table)
    return relation.split(separator: ".").dropLast().map { $0 + "." }.joined() + index
  }
}
