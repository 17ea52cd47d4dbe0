import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Removes the schema `holdfast`, and nothing of the app.
///
/// `DROP SCHEMA … CASCADE` also drops tables that others made in the schema, and views elsewhere that use Holdfast's tables. So what is not
/// Holdfast's is listed before and after it, in one transaction.
struct AdoptionRemoval {
  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// - Returns: the tables that Holdfast made, which stay.
  /// - Throws: `ServerError.refused`; `PostgresError`. The database is then unchanged: closing the connection rolls back.
  func run() throws -> [String] {
    try connection.execute(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL client_min_messages = warning;
      SELECT pg_advisory_xact_lock(\(PostgresLock.opening.rawValue))
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
    let before = try others()
    // The triggers are dropped with their functions.
    try connection.execute("DROP SCHEMA holdfast CASCADE")
    let after = try others()
    let lost = before.filter { after[$0.key] != $0.value }.keys.sorted()
    if !lost.isEmpty {
      throw ServerError(
        .refused,
        """
        Without Holdfast's tables these could not stay as they are: \(lost.joined(separator: ", ")). Drop what of them uses the schema \
        holdfast, then repeat the command. Nothing was removed.
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

  /// The number of columns of each table and view outside of the schema `holdfast`.
  private func others() throws -> TextMap<Int64> {
    let rows = try connection.query(
      """
      SELECT format('%I.%I', n.nspname, c.relname), count(a.attnum) FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND n.nspname NOT IN ('holdfast', 'information_schema')
        AND n.nspname NOT LIKE 'pg\\_%' GROUP BY 1
      """)
    return TextMap(rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) })
  }
}
