import HoldfastCore
import HoldfastPostgres

/// What is made after the opening's transaction, as it would keep writers out while it lasts: indexes that were added to tables with
/// records, of reference columns and of those that the schema declares, and the check of foreign keys.
struct PostgresIndexes {
  /// An index that should be there.
  private struct Wanted {
    /// The index of the table.
    let table: Int
    /// Its name, quoted.
    let name: String
    /// The statement that makes it, without keeping writers out.
    let make: String
    /// What is checked when it is there.
    var validation: String?
  }

  private let tables: PostgresTables
  private let connection: PostgresConnection

  /// Makes what is missing. Another node that starts at the same time leaves it to this one; what is left undone by a crash is done at the
  /// next opening.
  static func make(_ tables: PostgresTables, on connection: PostgresConnection) throws(PostgresError) {
    try PostgresIndexes(tables: tables, connection: connection).make()
  }

  private var wanted: [Wanted] {
    let links = tables.schema.links.map { link in
      Wanted(
        table: link.table, name: tables.indexName(for: link),
        make: tables.index(for: link, concurrently: true),
        validation: tables.validation(of: link))
    }
    let declared = tables.schema.tables.enumerated().flatMap { index, table in
      table.indexes.map { columns in
        Wanted(
          table: index, name: PostgresTables.indexName(columns, of: table.name),
          make: tables.index(columns, of: index, concurrently: true))
      }
    }
    return links + declared
  }

  private func make() throws(PostgresError) {
    var missing: [Wanted] = []
    for index in wanted where try !has(index) { missing.append(index) }
    if missing.isEmpty { return }
    let lock = try connection.query("SELECT pg_try_advisory_lock(5216694956356254583)")
    guard lock.bool(0, 0) else { return }
    for index in missing {
      try connection.execute("DROP INDEX CONCURRENTLY IF EXISTS \(qualified(index))")
      try connection.execute(index.make)
      if let validation = index.validation { try connection.execute(validation) }
    }
    try connection.execute("SELECT pg_advisory_unlock(5216694956356254583)")
  }

  /// Drops a declared index that the schema has no longer. In an adopted table indexes are the team's.
  static func drop(
    _ columns: [String], of table: Int, _ tables: PostgresTables, on connection: PostgresConnection
  ) throws(PostgresError) {
    let name = tables.schema.tables[table].name
    let rows = try connection.query(
      "SELECT 1 FROM holdfast.tables WHERE name = $1 AND adopted", PostgresParameters(name))
    guard rows.isEmpty else { return }
    let index = Wanted(table: table, name: PostgresTables.indexName(columns, of: name), make: "")
    let place = PostgresIndexes(tables: tables, connection: connection).qualified(index)
    try connection.execute("DROP INDEX IF EXISTS \(place)")
  }

  /// Whether there is a valid index. In an adopted table indexes are the team's.
  private func has(_ index: Wanted) throws(PostgresError) -> Bool {
    let rows = try connection.query(
      """
      SELECT (SELECT adopted FROM holdfast.tables WHERE name = $2)
        OR EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass($1) AND i.indisvalid)
      """,
      PostgresParameters(qualified(index), tables.schema.tables[index.table].name))
    return rows.bool(0, 0)
  }

  /// An index is in the schema of its table.
  private func qualified(_ index: Wanted) -> String {
    let relation = tables.relation(of: index.table)
    return relation.split(separator: ".").dropLast().map { $0 + "." }.joined() + index.name
  }
}
