package import HoldfastPostgres
import HoldfastService

/// The identity of a PostgreSQL database: its cluster, timeline, database and history. docs/RESTORING.md, section 6.
///
/// The row `history` of `holdfast.meta` stores it. Each start compares it.
package struct PostgresIdentity {
  /// The current values; empty if the role may not read them.
  private let parts: [(name: String, value: String)]
  /// The expression for the timeline, which is empty in a standby; nil if the role may not read it.
  let timeline: String?

  /// Reads the identity from the server.
  package init(_ connection: PostgresConnection) throws(PostgresError) {
    let system = try Self.mayCall(["pg_control_system()"], connection)
    let mayReadTimeline = try Self.mayCall(
      ["pg_walfile_name(pg_lsn)", "pg_current_wal_insert_lsn()"], connection)
    timeline =
      mayReadTimeline
      ? "CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END"
      : nil
    // A missing privilege fails even an expression that is not evaluated, so the statement contains only permitted functions. A standby has
    // no timeline of its own yet.
    let rows = try connection.queryOnce(
      PostgresStatement(
        """
        SELECT \(system ? "(SELECT system_identifier::text FROM pg_control_system())" : "''"),
          \(timeline ?? "''"), \(Self.database)
        """))
    parts = [
      ("another cluster", rows.text(0, 0)), ("another timeline of the cluster", rows.text(0, 1)),
      ("another database of the cluster", rows.text(0, 2)),
    ]
  }

  private static let database = "(SELECT oid::text FROM pg_database WHERE datname = current_database())"

  private static func mayCall(
    _ functions: [String], _ connection: PostgresConnection
  ) throws(PostgresError) -> Bool {
    for function in functions {
      let rows = try connection.query(
        "SELECT has_function_privilege('pg_catalog.' || $1::text, 'EXECUTE')", PostgresParameters(function))
      if !rows.bool(0, 0) { return false }
    }
    return true
  }

  /// Whether two connections lead to the same database of the same server.
  func isSame(as other: PostgresIdentity) -> Bool {
    zip(parts, other.parts).allSatisfy { $0.value == $1.value }
  }

  /// How the stored identity differs.
  package struct Difference {
    /// As a sentence.
    package let text: String
    /// Whether no SQL writer has written to the feed since the identity was stored. Services do not write before a new epoch: each of their
    /// transactions selects `foreign`.
    package let isForkKnown: Bool
  }

  /// How the stored identity differs; nil if it does not, or if none is stored.
  package func difference(_ connection: PostgresConnection) throws(PostgresError) -> Difference? {
    let rows = try connection.query(
      """
      SELECT m.value, m.xmin::text, split_part(m.value, ' ', 5) = s.last_value::text
      FROM holdfast.meta m, holdfast.sql_writes s WHERE m.key = 'history'
      """)
    return try text(of: rows).map { Difference(text: $0, isForkKnown: rows.bool(0, 2)) }
  }

  private func text(of rows: PostgresRows) throws(PostgresError) -> String? {
    if rows.isEmpty { return nil }
    let stored = rows.text(0, 0).split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard stored.count == parts.count + 2 else { return "The row history of holdfast.meta can't be read." }
    for (part, stored) in zip(parts, stored)
    where !part.value.isEmpty && !stored.isEmpty && part.value != stored {
      return "It is in \(part.name)."
    }
    // If another program wrote the row, such as a restore, its `xmin` differs from the stored one.
    return rows.text(0, 1) == stored[parts.count] ? nil : "Another program has written its rows."
  }

  /// Selects the row `foreign` if another program has written the row `history`, or if the row is of another database or timeline: behind a
  /// pooler a connection outlives the server that it led to. A database of another cluster differs in one of these too, unless it has
  /// lost nothing.
  ///
  /// - Parameter timeline: see `timeline`.
  static func findForeign(timeline: String?) -> String {
    """
    SELECT 'foreign', '' FROM holdfast.meta WHERE key = 'history' AND (split_part(value, ' ', 4) <> xmin::text
      OR split_part(value, ' ', 3) <> \(database)\(timeline.map { " OR split_part(value, ' ', 2) NOT IN ('', \($0))" } ?? ""))
    """
  }

  /// Selects the age of the epoch. What is older was in the database when it began: a restore writes rows in an order of its own.
  static let epochAge = "(SELECT age(m.xmin) FROM holdfast.meta m WHERE m.key = 'epoch')"

  /// Whether `pg_restore` is writing to the database. It commits table by table, so an epoch would begin with a part of them.
  static func isBeingRestored(_ connection: PostgresConnection) throws(PostgresError) -> Bool {
    try connection.queryOnce(
      """
      SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_restore')
      """
    ).bool(0, 0)
  }

  static let beingRestored = "pg_restore is writing to the database. It can be served once that has ended."

  /// Begins a new epoch in the connection's transaction, and stores the identity.
  ///
  /// - Returns: the message for the operator.
  func takeUp(
    _ difference: Difference, _ service: DatabaseService, on connection: PostgresConnection
  ) throws -> String {
    let begun = try PostgresEpoch.begin(
      NewEpoch(service.environment, because: .otherDatabase, isForkKnown: difference.isForkKnown),
      on: connection)
    try store(connection)
    return """
      The database is not the one that was served last. \(difference.text) The epoch \(begun?.epoch ?? "") has begun: devices recover what the \
      database lacks.
      """
  }

  /// Stores the identity in the connection's transaction.
  package func store(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.run(
      """
      INSERT INTO holdfast.meta (key, value)
      SELECT 'history', concat_ws(' ', $1::text, pg_current_xact_id()::text::bigint & 4294967295, s.last_value)
      FROM holdfast.sql_writes s
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """, PostgresParameters(parts.map(\.value).joined(separator: " ")))
  }
}
