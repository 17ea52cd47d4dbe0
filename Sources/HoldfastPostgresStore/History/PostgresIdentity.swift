package import HoldfastPostgres
import HoldfastService

/// The identity of a PostgreSQL database: its cluster, timeline, database and history. docs/RESTORING.md, section 6.
///
/// The row `history` of `holdfast.meta` stores it. Each start compares it.
package struct PostgresIdentity {
  /// The current values; empty if the role may not read them.
  private let parts: [(name: String, value: String)]

  /// Reads the identity from the server.
  package init(_ connection: PostgresConnection) throws(PostgresError) {
    let system = try Self.mayCall(["pg_control_system()"], connection)
    let timeline = try Self.mayCall(
      ["pg_walfile_name(pg_lsn)", "pg_current_wal_insert_lsn()"], connection)
    // A missing privilege fails even an expression that is not evaluated, so the statement contains only permitted functions.
    let rows = try connection.queryOnce(
      PostgresStatement(
        """
        SELECT \(system ? "(SELECT system_identifier::text FROM pg_control_system())" : "''"),
          \(timeline ? "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)" : "''"),
          (SELECT oid::text FROM pg_database WHERE datname = current_database())
        """))
    parts = [
      ("another cluster", rows.text(0, 0)), ("another timeline of the cluster", rows.text(0, 1)),
      ("another database of the cluster", rows.text(0, 2)),
    ]
  }

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

  /// How the stored identity differs, as a sentence; nil if it does not, or if none is stored.
  package func difference(_ connection: PostgresConnection) throws(PostgresError) -> String? {
    let rows = try connection.query(
      "SELECT value, xmin::text FROM holdfast.meta WHERE key = 'history'")
    if rows.isEmpty { return nil }
    let stored = rows.text(0, 0).split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    guard stored.count == parts.count + 1, let writer = UInt64(stored[parts.count]) else {
      return "The row history of holdfast.meta can't be read."
    }
    for (part, stored) in zip(parts, stored)
    where !part.value.isEmpty && !stored.isEmpty && part.value != stored {
      return "It is in \(part.name)."
    }
    // If another program wrote the row, such as a restore, its `xmin` differs from the stored transaction number.
    return UInt64(rows.text(0, 1)) == writer & 0xFFFF_FFFF ? nil : "Another program has written its rows."
  }

  /// Begins a new epoch in the connection's transaction, and stores the identity.
  ///
  /// - Parameters:
  ///   - difference: the reason.
  ///   - isForkKnown: whether no server has written to the database since.
  /// - Returns: the message for the operator.
  func takeUp(
    _ difference: String, isForkKnown: Bool = true, _ service: DatabaseService,
    on connection: PostgresConnection
  ) throws -> String {
    let begun = try PostgresEpoch.begin(
      NewEpoch(service.environment, because: .otherDatabase, isForkKnown: isForkKnown), on: connection)
    try store(connection)
    return """
      The database is not the one that was served last. \(difference) The epoch \(begun?.epoch ?? "") has begun: devices recover what the \
      database lacks.
      """
  }

  /// Stores the identity in the connection's transaction.
  package func store(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.run(
      """
      INSERT INTO holdfast.meta (key, value) VALUES ('history', $1 || ' ' || pg_current_xact_id()::text)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value
      """, PostgresParameters(parts.map(\.value).joined(separator: " ")))
  }
}
