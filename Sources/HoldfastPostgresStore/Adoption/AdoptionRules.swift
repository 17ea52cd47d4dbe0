import HoldfastPostgres
import HoldfastService

/// Rules of a team's tables that no schema can have: devices learn of them only when the database refuses a write.
struct AdoptionRules {
  /// Checks of the table and of its columns' domains, constraints of exclusion, and unique indexes that are partial, or over expressions or
  /// texts that are equal with different bytes.
  private static let find: PostgresStatement = """
    WITH RECURSIVE tables AS (
      SELECT w.n, to_regclass(w.relation)::oid AS oid FROM unnest($1::text[]) WITH ORDINALITY w (relation, n)
    ), domains AS (
      SELECT DISTINCT t.n, a.atttypid AS oid FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
      UNION SELECT d.n, y.typbasetype FROM domains d JOIN pg_type y ON y.oid = d.oid WHERE y.typtype = 'd'
    )
    SELECT t.n, k.conname || ' ' || pg_get_constraintdef(k.oid) AS rule FROM tables t
      JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype IN ('c', 'x')
    UNION ALL SELECT d.n, k.conname || ' ' || pg_get_constraintdef(k.oid) FROM domains d
      JOIN pg_constraint k ON k.contypid = d.oid AND k.contype = 'c'
    UNION ALL SELECT t.n, pg_get_indexdef(i.indexrelid) FROM tables t JOIN pg_index i ON i.indrelid = t.oid
    WHERE i.indisunique AND i.indisvalid AND NOT i.indisprimary AND (i.indpred IS NOT NULL OR i.indexprs IS NOT NULL OR EXISTS (
      SELECT FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
      LEFT JOIN pg_collation l ON l.oid = a.attcollation
      WHERE a.attrelid = t.oid AND a.attnum = ANY (i.indkey::smallint[]) AND (y.typname = 'citext' OR NOT l.collisdeterministic)))
    ORDER BY 1, 2
    """

  /// A note for each rule.
  ///
  /// - Parameter tables: their names, and the quoted and qualified ones.
  static func notes(
    on tables: [(name: String, relation: String)], _ connection: PostgresConnection
  ) throws(PostgresError) -> [String] {
    let rows = try connection.query(find, PostgresParameters(array: tables.map(\.relation)))
    return rows.indices.map { "\(tables[Int(rows.int64($0, 0)) - 1].name): \(unknown(rows.text($0, 1)))" }
  }

  /// What follows from a rule for people who write on devices.
  static func unknown(_ rule: String) -> String {
    "no device knows the rule \(rule). A write that breaks it is refused, and waits in quarantine."
  }
}
