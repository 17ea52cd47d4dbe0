import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The parts of a migration that run after the opening's transaction, because they would block writers inside it. They are new indexes on
/// existing tables (of references, of lists, and declared ones), and the validation of foreign keys.
struct PostgresIndexes {
  /// An index that must exist.
  private struct Wanted {
    /// The index of the table in the schema.
    let table: Int
    /// The quoted name.
    let name: String
    /// The statement that creates the index without blocking writers.
    let make: String
  }

  private let tables: PostgresTables
  private let layout: PostgresLayout
  private let connection: PostgresConnection
  private let log: (String) -> Void

  /// Creates the missing indexes, and validates foreign keys. A second node that starts at the same time skips this. The next opening
  /// completes what a crash interrupted, and tries again what failed: nothing needs an index or a validation to serve.
  ///
  /// - Parameter log: receives a sentence about each that failed.
  static func make(
    _ tables: PostgresTables, _ layout: PostgresLayout, on connection: PostgresConnection,
    log: @escaping (String) -> Void
  ) throws(PostgresError) {
    try PostgresIndexes(tables: tables, layout: layout, connection: connection, log: log).make()
  }

  private var wanted: [Wanted] {
    let links = tables.schema.links.filter { layout.relations[$0.table].hasZone }.map { link in
      Wanted(
        table: link.table, name: tables.indexName(for: link),
        make: tables.index(for: link, concurrently: true))
    }
    let others = tables.schema.tables.indices.flatMap { index in
      layout.relations[index].hasZone ? made(of: index) : adopted(of: index)
    }
    return links + others
  }

  /// The indexes of a table that Holdfast created.
  private func made(of index: Int) -> [Wanted] {
    let table = tables.schema.tables[index]
    return table.serverIndexes.map { columns in
      Wanted(
        table: index, name: PostgresTables.indexName(columns, of: table.name),
        make: tables.index(columns, of: index, concurrently: true))
    }
  }

  /// The indexes of a team's table. The team manages its indexes, except those of lists. Without a zone column, only lists with a shared
  /// reference need one.
  private func adopted(of index: Int) -> [Wanted] {
    let (table, relation) = (tables.schema.tables[index], layout.relations[index])
    return table.columns.indices.filter { table.columns[$0].type == .position }.compactMap { position in
      guard let list = table.list(of: position) else { return nil }
      let name = PostgresTables.indexName(table.listIndex(of: position), of: table.name)
      let keys = "\(relation.columns[list].name), \(relation.columns[position].bytes(""))"
      return Wanted(
        table: index, name: name,
        make: "CREATE INDEX CONCURRENTLY \(name) ON \(tables.relation(of: index)) (\(keys))")
    }
  }

  private func make() throws(PostgresError) {
    var missing: [Wanted] = []
    for index in wanted where try !has(index) { missing.append(index) }
    if missing.isEmpty, try unchecked().isEmpty { return }
    guard try PostgresLock.indexes.take(over: connection) else { return }
    for index in missing {
      let drop = "DROP INDEX CONCURRENTLY IF EXISTS \(qualified(index))"
      try connection.execute(drop)
      try attempt(index.make) { () throws(PostgresError) in
        // What is left of it would refuse values.
        try connection.execute(drop)
        return "The index \(qualified(index)) can't be made, so queries that need it are slow"
      }
    }
    for check in try unchecked() {
      try attempt(check) { "A foreign key can't be validated, and `holdfast doctor` names what breaks it" }
    }
    try connection.execute("SELECT pg_advisory_unlock(\(PostgresLock.indexes.rawValue))")
  }

  /// Runs a statement whose failure keeps no server from serving.
  ///
  /// - Parameter failed: cleans up, and says what it means.
  private func attempt(
    _ statement: String, failed: () throws(PostgresError) -> String
  ) throws(PostgresError) {
    do throws(PostgresError) { try connection.execute(statement) } catch {
      if error.isConnectionLost { throw error }
      log("\(try failed()): \(error)")
    }
  }

  /// The statements that validate the foreign keys that were added as NOT VALID. The validation uses the indexes.
  private func unchecked() throws(PostgresError) -> [String] {
    let links = tables.schema.links.filter { layout.relations[$0.table].hasZone }
    var names = PostgresParameters()
    names.append(array: links.map { tables.relation(of: $0.table) })
    names.append(array: links.map { tables.referenceName(of: $0) })
    return try connection.query(
      """
      SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', c.conrelid::regclass, c.conname)
      FROM unnest($1::text[], $2::text[]) u (relation, name) JOIN pg_constraint c
        ON c.conrelid = to_regclass(u.relation) AND '"' || replace(c.conname, '"', '""') || '"' = u.name
      WHERE c.contype = 'f' AND NOT c.convalidated
      """, names
    ).texts
  }

  /// Drops an index that the schema no longer has. The team manages the declared indexes of an adopted table.
  static func drop(
    _ columns: [String], of table: Int, _ tables: PostgresTables, on connection: PostgresConnection
  ) throws(PostgresError) {
    let name = tables.schema.tables[table].name
    let rows = try connection.query(
      "SELECT 1 FROM holdfast.tables WHERE name = $1 AND adopted", PostgresParameters(name))
    guard rows.isEmpty || columns.last == "id" else { return }
    let index = PostgresTables.indexName(columns, of: name)
    try connection.execute("DROP INDEX IF EXISTS \(qualified(index, of: tables.relation(of: table)))")
  }

  /// Whether a valid index exists. Also true for a table of another owner, on which no index can be created; queries work without it.
  private func has(_ index: Wanted) throws(PostgresError) -> Bool {
    let rows = try connection.query(
      """
      SELECT EXISTS (SELECT FROM pg_index i WHERE i.indexrelid = to_regclass($1) AND i.indisvalid) OR EXISTS (
        SELECT FROM pg_class c WHERE c.oid = to_regclass($2) AND NOT (
          pg_has_role(c.relowner, 'USAGE') AND has_schema_privilege(c.relnamespace, 'CREATE')))
      """,
      PostgresParameters(qualified(index), tables.relation(of: index.table)))
    return rows.bool(0, 0)
  }

  private func qualified(_ index: Wanted) -> String {
    Self.qualified(index.name, of: tables.relation(of: index.table))
  }

  /// The qualified name of an index. An index is in the schema of its table.
  private static func qualified(_ index: String, of relation: String) -> String {
    relation.split(separator: ".").dropLast().map { $0 + "." }.joined() + index
  }
}
