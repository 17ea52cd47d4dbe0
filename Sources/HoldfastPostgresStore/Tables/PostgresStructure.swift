import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The constraints of the tables that Holdfast created: keys, checks, unique indexes and NOT NULL. A foreign key with disabled triggers
/// counts as missing. `meta` stores the constraints that Holdfast created, so that a constraint that was dropped since is reported:
/// docs/POSTGRES.md, section 1. Constraints that a team adds, those of the team's tables, and those of removed parts of the schema do not
/// count.
struct PostgresStructure {
  /// The statement that creates each constraint, by description.
  private let parts: TextMap<String>
  /// The descriptions, by identifiers that survive renaming.
  private let names: TextMap<String>

  private static let find: PostgresStatement = """
    WITH made AS MATERIALIZED (
      SELECT c.oid, n.nspname || '.' || c.relname AS name, format('%I.%I', n.nspname, c.relname) AS relation
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p') AND (n.nspname = 'holdfast'
        OR c.oid IN (SELECT to_regclass(t.relation) FROM holdfast.tables t WHERE NOT t.adopted))
    )
    SELECT 'constraint ' || k.oid, format('the constraint %s of %s', k.conname, m.name),
      format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I, ADD CONSTRAINT %I %s', m.relation, k.conname, k.conname,
        pg_get_constraintdef(k.oid))
    FROM made m JOIN pg_constraint k ON k.conrelid = m.oid WHERE k.contype IN ('p', 'u', 'f', 'c')
      AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgconstraint = k.oid AND g.tgenabled NOT IN ('O', 'A'))
      AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = m.oid AND a.attnum = ANY (k.conkey) AND a.attname LIKE 'holdfast\\_removed\\_%')
    UNION ALL SELECT 'index ' || i.indexrelid::bigint, format('the index %s of %s', c.relname, m.name), pg_get_indexdef(i.indexrelid)
    FROM made m JOIN pg_index i ON i.indrelid = m.oid JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indisunique AND i.indisvalid AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.conrelid = m.oid)
    UNION ALL SELECT format('column %s %s', m.oid, a.attnum), format('NOT NULL of the column %s of %s', a.attname, m.name),
      format('ALTER TABLE %s ALTER COLUMN %I SET NOT NULL', m.relation, a.attname)
    FROM made m JOIN pg_attribute a ON a.attrelid = m.oid WHERE a.attnotnull AND a.attnum > 0 AND NOT a.attisdropped
    """
  private static let findKept: PostgresStatement = "SELECT value FROM holdfast.meta WHERE key = 'structure'"
  private static let keep: PostgresStatement = """
    INSERT INTO holdfast.meta (key, value) VALUES ('structure', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value
    """

  /// Reads the constraints of the database.
  init(in connection: PostgresConnection) throws(PostgresError) {
    let rows = try connection.query(Self.find)
    parts = TextMap(rows.indices.map { (rows.text($0, 1), rows.text($0, 2)) })
    names = TextMap(rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) })
  }

  /// The stored constraints that Holdfast created; nil if none were ever stored.
  private static func kept(in connection: PostgresConnection) throws -> TextMap<String>? {
    let rows = try connection.query(findKept)
    if rows.isEmpty { return nil }
    let members = try JSONValue(parsing: Array(rows.text(0, 0).utf8)).members ?? []
    return TextMap(members.map { ($0.name, $0.value.stringValue ?? "") })
  }

  /// Stores the constraints that Holdfast created, in the transaction that has created, renamed or removed some of them.
  ///
  /// - Parameter before: the constraints at the beginning of the transaction; nil for a database without Holdfast.
  /// - Returns: the constraints now.
  static func keep(
    since before: PostgresStructure?, on connection: PostgresConnection
  ) throws -> PostgresStructure {
    if let before, try !hasWritten(connection) { return before }
    let (now, kept) = (try PostgresStructure(in: connection), try kept(in: connection))
    var parts: TextMap<String> = [:]
    // A constraint that was already missing is still missing, unless it was created again.
    for (part, statement) in kept ?? [:] where before?.parts[part] == nil { parts[part] = statement }
    for (id, part) in now.names {
      if let kept, let name = before?.names[id], kept[name] == nil { continue }
      parts[part] = now.parts[part]
    }
    if parts == kept { return now }
    let members = parts.keys.sorted().map { JSONValue.Member($0, .string(parts[$0] ?? "")) }
    try connection.run(
      keep, PostgresParameters(String(decoding: JSONValue.object(members).bytes, as: UTF8.self)))
    return now
  }

  /// Whether the transaction has changed anything so far.
  private static func hasWritten(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.query("SELECT pg_current_xact_id_if_assigned() IS NOT NULL").bool(0, 0)
  }

  /// A line for each constraint that is missing here, with the statement that repairs it.
  func missing(on connection: PostgresConnection) throws -> [Finding] {
    guard let kept = try Self.kept(in: connection) else { return [] }
    return kept.keys.sorted().filter { parts[$0] == nil }.map {
      Finding(.structure, "\($0) is missing or switched off; mend it by \(kept[$0] ?? "")")
    }
  }
}
