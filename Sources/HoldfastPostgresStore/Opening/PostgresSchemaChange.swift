import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Renames tables and columns of a database, and retires those that the schema no longer has, inside the transaction of the opening:
/// docs/SCHEMA-CHANGES.md.
struct PostgresSchemaChange {
  private let connection: PostgresConnection
  private let old: SyncSchema
  private let difference: SchemaDifference
  /// The tables of the old schema, with their current relations.
  private let before: PostgresTables
  private let adopted: TextSet
  private var new: SyncSchema { after.schema }
  /// The tables of the new schema. `known` contains the kept ones.
  private(set) var after: PostgresTables

  /// - Parameter tables: the tables of the new schema, with the known relations under their old names.
  init(
    _ connection: PostgresConnection, from old: SyncSchema, _ tables: PostgresTables,
    _ difference: SchemaDifference
  ) throws(PostgresError) {
    self.connection = connection
    self.old = old
    self.difference = difference
    after = tables
    before = PostgresTables(schema: old, namespace: tables.namespace, known: tables.known)
    let rows = try connection.query("SELECT name FROM holdfast.tables WHERE adopted")
    adopted = TextSet(rows.indices.map { rows.text($0, 0) })
  }

  /// Runs all steps.
  mutating func run() throws {
    let rewritten = difference.kept.filter(\.isRewritten)
    if rewritten.isEmpty, difference.removedTables.isEmpty { return }
    // The updates of `conflicts` below are not edits.
    try connection.execute("SET LOCAL holdfast.service = 'on'")
    for kept in rewritten { try dropTriggers(of: kept.before) }
    for name in difference.removedTables {
      if let index = old.index(of: name) { try dropTriggers(of: index) }
    }
    for kept in rewritten { try retireColumns(kept) }
    for name in difference.removedTables { try retire(name) }
    for renaming in difference.renamedTables { try rename(renaming) }
    for kept in rewritten {
      for renaming in kept.renamed { try rename(renaming, of: kept.index) }
      try renameIndexes(of: kept)
    }
    try connection.execute("SET LOCAL holdfast.service = ''")
  }

  /// Drops triggers and functions, because their names contain the old names. The opening installs the new ones.
  private func dropTriggers(of index: Int) throws {
    let relation = before.relation(of: index)
    let rows = try connection.query(
      """
      SELECT t.tgname::text FROM pg_trigger t
      WHERE t.tgrelid = to_regclass($1) AND NOT t.tgisinternal AND t.tgname LIKE 'holdfast\\_%'
      """, PostgresParameters(relation))
    for row in rows.indices {
      try connection.execute("DROP TRIGGER \(PostgresName.quoted(rows.text(row, 0))) ON \(relation)")
    }
    let triggers = TriggerTables(schema: old, relations: [])
    for purpose in ["insert", "update", "delete", "truncate", "place", "settle", "check"] {
      try connection.execute("DROP FUNCTION IF EXISTS \(triggers.function(index, purpose))")
    }
  }

  // MARK: Names

  private mutating func rename(_ renaming: SchemaDifference.Renaming) throws {
    guard let index = old.index(of: renaming.old), let place = new.index(of: renaming.new) else { return }
    var relation = before.relation(of: index)
    if !adopted.contains(renaming.old) {
      try connection.execute("ALTER TABLE \(relation) RENAME TO \"\(renaming.new)\"")
      relation = Self.qualified("\"\(renaming.new)\"", like: relation)
    }
    after.known[renaming.old] = nil
    after.known[new.tables[place].name] = relation
    try connection.run(
      "UPDATE holdfast.tables SET name = $1, relation = $2 WHERE name = $3",
      PostgresParameters(renaming.new, relation, renaming.old))
    for table in ["records", "created", "recovered_records"] {
      try connection.run(
        PostgresStatement("UPDATE holdfast.\(table) SET record_table = $1 WHERE record_table = $2"),
        PostgresParameters(renaming.new, renaming.old))
    }
    try renameInConflicts(
      "record_table = $1 WHERE record_table = $2", PostgresParameters(renaming.new, renaming.old))
  }

  private func rename(_ renaming: SchemaDifference.Renaming, of index: Int) throws {
    let table = new.tables[index].name
    if !isAdopted(index) {
      try connection.execute(
        "ALTER TABLE \(after.relation(of: index)) RENAME COLUMN \"\(renaming.old)\" TO \"\(renaming.new)\"")
    }
    try renameStamps(of: renaming.old, to: renaming.new, in: table)
    try renameInConflicts(
      "column_name = $1 WHERE record_table = $2 AND column_name = $3",
      PostgresParameters(renaming.new, table, renaming.old))
  }

  /// Renames in the conflict log. Writes the ledger rows of these records, too, unchanged: a record that was written without its ledger row
  /// looks like one that bypassed the triggers.
  private func renameInConflicts(_ setting: String, _ parameters: PostgresParameters) throws {
    try connection.run(
      PostgresStatement(
        """
        WITH renamed AS (UPDATE holdfast.conflicts SET \(setting) RETURNING id)
        UPDATE holdfast.records r SET rev = r.rev FROM renamed n
        WHERE r.record_table = \(PostgresName.literal(TableSchema.conflicts.name)) AND r.id = n.id AND r.state = 0
        """), parameters)
  }

  /// Whether a table of the new schema is the team's. `adopted` contains old names.
  private func isAdopted(_ index: Int) -> Bool {
    difference.kept.contains { $0.index == index && adopted.contains(old.tables[$0.before].name) }
  }

  /// Renames a column in the stamps, which refer to columns by name.
  private func renameStamps(of old: String, to new: String, in table: String) throws {
    try connection.run(
      """
      UPDATE holdfast.records SET stamps = replace(stamps, $1, $2)
      WHERE record_table = $3 AND state = 0 AND strpos(stamps, $1) > 0
      """, PostgresParameters(";\(old)=", ";\(new)=", table))
  }

  /// Renames indexes and foreign keys, because their names contain those of tables and columns.
  private func renameIndexes(of kept: SchemaDifference.Kept) throws {
    let (earlier, table) = (old.tables[kept.before], new.tables[kept.index])
    let relation = after.relation(of: kept.index)
    var names: [(old: String, new: String)] = []
    for link in old.links(of: kept.before) {
      guard let column = kept.names[earlier.columns[link.column].name] else { continue }
      names.append((before.indexName(for: link), PostgresName.made("holdfast", table.name, "of", column)))
      try renameConstraint(
        PostgresName.made(earlier.name, earlier.columns[link.column].name, "fkey"),
        PostgresName.made(table.name, column, "fkey"), of: relation)
    }
    let groups = earlier.unique.indices.filter { !kept.groups([earlier.unique[$0]]).isEmpty }
    for (place, number) in groups.enumerated() {
      names.append(
        (
          PostgresName.made("holdfast", earlier.name, "unique", String(number)),
          PostgresName.made("holdfast", table.name, "unique", String(place))
        ))
    }
    for columns in earlier.serverIndexes {
      guard let renamed = kept.groups([columns]).first else { continue }
      names.append(
        (
          PostgresTables.indexName(columns, of: earlier.name),
          PostgresTables.indexName(renamed, of: table.name)
        ))
    }
    for name in names where name.old != name.new {
      try connection.execute(
        "ALTER INDEX IF EXISTS \(Self.qualified(name.old, like: relation)) RENAME TO \(name.new)")
    }
  }

  private func renameConstraint(_ old: String, _ new: String, of relation: String) throws {
    if old == new { return }
    let rows = try connection.query(
      "SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass($1) AND conname = $2",
      PostgresParameters(relation, Self.plain(old)))
    if rows.isEmpty { return }
    try connection.execute("ALTER TABLE \(relation) RENAME CONSTRAINT \(old) TO \(new)")
  }

  // MARK: What is gone

  private func retireColumns(_ kept: SchemaDifference.Kept) throws {
    let table = old.tables[kept.before]
    if kept.removed.isEmpty { return }
    let relation = before.relation(of: kept.before)
    let catalog = try PostgresCatalog(relation, on: connection)
    var names = catalog?.columns.map(\.name) ?? []
    let isAdopted = adopted.contains(table.name)
    if !isAdopted {
      for index in indexes(of: kept, table) {
        try connection.execute("DROP INDEX IF EXISTS \(Self.qualified(index, like: relation))")
      }
    }
    for column in kept.removed {
      let name = RemovedName.free(for: column, among: names)
      names.append(name)
      try renameStamps(of: column, to: name, in: table.name)
      if isAdopted { continue }
      let key = PostgresName.made(table.name, column, "fkey")
      for action in [
        "DROP CONSTRAINT IF EXISTS \(key)", "ALTER COLUMN \"\(column)\" DROP NOT NULL",
        "ALTER COLUMN \"\(column)\" DROP DEFAULT", "RENAME COLUMN \"\(column)\" TO \"\(name)\"",
      ] { try connection.execute("ALTER TABLE \(relation) \(action)") }
    }
    try touch(table.name, relation)
  }

  /// Counts the removal of a column or table as a change of each of its records, so that apps with an older schema receive it. They keep
  /// running, and the name may return. The first update locks the zones, because other nodes keep writing to other tables.
  private func touch(_ table: String, _ relation: String) throws {
    try connection.execute("LOCK TABLE \(relation) IN ACCESS EXCLUSIVE MODE")
    try connection.run(
      """
      UPDATE holdfast.zones z SET seq = z.seq + last.count FROM (
        SELECT r.zone, count(*) AS count FROM holdfast.records r WHERE r.record_table = $1 AND r.state = 0 GROUP BY r.zone
      ) last WHERE z.zone = last.zone
      """, PostgresParameters(table))
    try connection.run(
      """
      UPDATE holdfast.records r SET seq = last.seq, rev = r.rev + 1 FROM (
        SELECT l.zone, l.id, z.seq + 1 - row_number() OVER (PARTITION BY l.zone ORDER BY l.seq DESC) AS seq
        FROM holdfast.records l JOIN holdfast.zones z ON z.zone = l.zone WHERE l.record_table = $1 AND l.state = 0
      ) last WHERE r.zone = last.zone AND r.record_table = $1 AND r.id = last.id
      """, PostgresParameters(table))
  }

  /// The indexes that contain a removed column.
  private func indexes(of kept: SchemaDifference.Kept, _ table: TableSchema) -> [String] {
    let links = old.links(of: kept.before).filter { kept.names[table.columns[$0.column].name] == nil }
    let groups = table.unique.indices.filter { kept.groups([table.unique[$0]]).isEmpty }
    return links.map { before.indexName(for: $0) }
      + groups.map { PostgresName.made("holdfast", table.name, "unique", String($0)) }
      + table.serverIndexes.filter { kept.groups([$0]).isEmpty }.map {
        PostgresTables.indexName($0, of: table.name)
      }
  }

  private func retire(_ name: String) throws {
    guard let index = old.index(of: name) else { return }
    let relation = before.relation(of: index)
    try touch(name, relation)
    try connection.run(
      """
      UPDATE holdfast.records SET state = 1, stamps = NULL, device = 0, deleted_seq = seq, size = 0,
        stamp = (extract(epoch FROM now())::bigint * 1000) << 16
      WHERE record_table = $1 AND state = 0
      """, PostgresParameters(name))
    try connection.run("DELETE FROM holdfast.tables WHERE name = $1", PostgresParameters(name))
    if adopted.contains(name) { return }
    for link in old.links(of: index) {
      let key = PostgresName.made(name, old.tables[index].columns[link.column].name, "fkey")
      try connection.execute("ALTER TABLE \(relation) DROP CONSTRAINT IF EXISTS \(key)")
    }
    let rows = try connection.query(
      """
      SELECT i.indexrelid::regclass::text FROM pg_index i WHERE i.indrelid = to_regclass($1)
        AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)
      """, PostgresParameters(relation))
    for row in rows.indices { try connection.execute("DROP INDEX \(rows.text(row, 0))") }
    let tables = try connection.query(
      "SELECT c.relname::text FROM pg_class c WHERE starts_with(c.relname::text, $1)",
      PostgresParameters(RemovedName.prefix))
    let kept = RemovedName.free(for: name, among: tables.indices.map { tables.text($0, 0) })
    try connection.execute("ALTER TABLE \(relation) RENAME TO \"\(kept)\"")
  }

  // MARK: Quoting

  /// A quoted name, qualified with the schema of a relation.
  private static func qualified(_ name: String, like relation: String) -> String {
    relation.split(separator: ".").dropLast().map { $0 + "." }.joined() + name
  }

  /// A name from `PostgresName.made` without its quotes. It contains no inner quotes.
  private static func plain(_ name: String) -> String { String(name.dropFirst().dropLast()) }
}
