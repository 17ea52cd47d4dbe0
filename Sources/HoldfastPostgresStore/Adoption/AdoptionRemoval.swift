import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Removes the schema `holdfast`, and nothing of the app.
///
/// What is Holdfast's is dropped by its kind, without CASCADE: PostgreSQL refuses to drop what anything else depends on, and names it.
struct AdoptionRemoval {
  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// - Returns: the tables that Holdfast made, which stay.
  /// - Throws: `ServerError.refused`; `PostgresError`. The database is then unchanged: closing the connection rolls back.
  func run() throws -> [String] { try LockTurns.take(on: connection) { try remove() } }

  private func remove() throws -> [String] {
    try connection.execute(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL client_min_messages = warning;
      SELECT pg_advisory_xact_lock(\(PostgresLock.opening.rawValue)); \(LockTurns.limit)
      """)
    try moveOut()
    let inside = try PostgresStrangers.names(on: connection)
    if !inside.isEmpty {
      throw ServerError(
        .refused,
        """
        The schema holdfast contains what is not Holdfast's: \(inside.joined(separator: ", ")). Move each to another schema, such as by \
        ALTER TABLE \(inside[0]) SET SCHEMA public. Nothing was removed.
        """)
    }
    let made = try connection.query(
      """
      SELECT format('%I.%I', c.relnamespace::regnamespace::text, c.relname) FROM holdfast.tables t
      JOIN pg_class c ON c.oid = to_regclass(t.relation)
      WHERE NOT t.adopted AND c.relnamespace <> 'holdfast'::regnamespace ORDER BY 1
      """
    ).texts
    do { try drop() } catch let error as PostgresError where error.code == .dependentObjectsStillExist {
      throw ServerError(
        .refused,
        """
        Without Holdfast's tables these could not stay as they are:
        \(error.detail ?? error.message)
        Drop what of them uses the schema holdfast, then repeat the command. Nothing was removed.
        """)
    }
    try connection.execute("COMMIT")
    return made
  }

  /// Moves tables that Holdfast made for the app out of the schema `holdfast`. Earlier versions made them there for a role named `holdfast`.
  private func moveOut() throws {
    let rows = try connection.query(
      """
      SELECT format('holdfast.%I', c.relname), quote_ident(current_schema()), c.relname::text,
        to_regclass(format('%I.%I', current_schema(), c.relname)) IS NOT NULL
      FROM pg_class c WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind IN ('r', 'p')
        AND (starts_with(c.relname::text, $1) OR c.oid IN (SELECT to_regclass(t.relation) FROM holdfast.tables t))
      """, PostgresParameters(RemovedName.prefix))
    for row in rows.indices where !PostgresTables.ownNames.contains(rows.text(row, 2)) {
      guard let target = rows.optionalText(row, 1), !rows.bool(row, 3) else {
        throw ServerError(
          .refused,
          """
          The table \(rows.text(row, 0)) can't be moved out of the schema holdfast: the first schema of the role's search_path is missing, \
          or has a table of that name. Nothing was removed.
          """)
      }
      try connection.run(
        "UPDATE holdfast.tables SET relation = $1 WHERE to_regclass(relation) = to_regclass($2)",
        PostgresParameters("\(target).\(PostgresName.quoted(rows.text(row, 2)))", rows.text(row, 0)))
      try connection.execute("ALTER TABLE \(rows.text(row, 0)) SET SCHEMA \(target)")
    }
  }

  /// Drops the triggers on the app's tables, the default of the ids of tables that Holdfast made, and the schema.
  private func drop() throws {
    // Names are then shown with their schemas.
    try connection.execute("SET LOCAL search_path = pg_catalog")
    let own = try connection.query(
      """
      SELECT format('DROP TRIGGER %I ON %s', t.tgname, t.tgrelid::regclass) FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
      WHERE p.pronamespace = 'holdfast'::regnamespace AND NOT t.tgisinternal AND t.tgname LIKE 'holdfast\\_%'
      UNION ALL SELECT format('ALTER TABLE %s ALTER COLUMN id DROP DEFAULT', d.adrelid::regclass) FROM pg_attrdef d
      JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND a.attname = 'id'
      JOIN pg_class c ON c.oid = d.adrelid
      JOIN pg_depend n ON n.classid = 'pg_attrdef'::regclass AND n.objid = d.oid AND n.refclassid = 'pg_proc'::regclass
        AND n.refobjid = to_regprocedure($1)
      WHERE starts_with(c.relname::text, $2)
        OR c.oid IN (SELECT to_regclass(t.relation) FROM holdfast.tables t WHERE NOT t.adopted)
      """, PostgresParameters(PostgresRelation.newID, RemovedName.prefix)
    ).texts
    for statement in own { try connection.execute(statement) }
    for (kind, found) in [
      (
        "TABLE",
        "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p')"
      ),
      (
        "SEQUENCE",
        "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'S'"
      ),
      ("ROUTINE", "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = $1::regnamespace"),
    ] {
      let names = try connection.queryOnce(PostgresStatement(found), PostgresParameters("holdfast")).texts
      if !names.isEmpty { try connection.execute("DROP \(kind) \(names.joined(separator: ", "))") }
    }
    try connection.execute("DROP SCHEMA holdfast")
  }
}
