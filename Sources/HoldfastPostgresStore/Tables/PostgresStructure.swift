import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// What keeps wrong rows out of the tables that Holdfast made: their keys, checks, unique indexes and columns that are never null. A foreign key
/// whose triggers are switched off keeps nothing out: it is as good as missing. What Holdfast has
/// made of it is kept in `meta`, so that what somebody has dropped since is told: docs/POSTGRES.md, section 1. What a team adds to the tables, or
/// has in its own, is the team's; so is what has been removed from the schema.
struct PostgresStructure {
  /// By what they are called, the statements that make them.
  private let parts: TextMap<String>
  /// What they are called, by what stays when they are renamed.
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

  /// What the database has.
  init(in connection: PostgresConnection) throws(PostgresError) {
    let rows = try connection.query(Self.find)
    parts = TextMap(rows.indices.map { (rows.text($0, 1), rows.text($0, 2)) })
    names = TextMap(rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) })
  }

  /// What Holdfast has made, as it was kept; nil in a database that has never said so.
  private static func kept(in connection: PostgresConnection) throws -> TextMap<String>? {
    let rows = try connection.query(findKept)
    if rows.isEmpty { return nil }
    let members = try JSONValue(parsing: Array(rows.text(0, 0).utf8)).members ?? []
    return TextMap(members.map { ($0.name, $0.value.stringValue ?? "") })
  }

  /// Keeps what Holdfast has made, in the transaction that has made, renamed or removed some of it.
  ///
  /// - Parameter before: what the database had when the transaction began; nil for one without a Holdfast.
  static func keep(since before: PostgresStructure?, on connection: PostgresConnection) throws {
    let (now, kept) = (try PostgresStructure(in: connection), try kept(in: connection))
    var parts: TextMap<String> = [:]
    // What was missing already is missing still, unless it has been made again.
    for (part, statement) in kept ?? [:] where before?.parts[part] == nil { parts[part] = statement }
    for (id, part) in now.names {
      if let kept, let name = before?.names[id], kept[name] == nil { continue }
      parts[part] = now.parts[part]
    }
    if parts == kept { return }
    let members = parts.keys.sorted().map { JSONValue.Member($0, .string(parts[$0] ?? "")) }
    try connection.run(
      keep, PostgresParameters(String(decoding: JSONValue.object(members).bytes, as: UTF8.self)))
  }

  /// A line for each part that Holdfast has made and the database lacks, with how to mend it.
  static func missing(on connection: PostgresConnection) throws -> [String] {
    guard let kept = try kept(in: connection) else { return [] }
    let now = try PostgresStructure(in: connection)
    return kept.keys.sorted().filter { now.parts[$0] == nil }.map {
      "structure: \($0) is missing or switched off; mend it by \(kept[$0] ?? "")"
    }
  }
}
