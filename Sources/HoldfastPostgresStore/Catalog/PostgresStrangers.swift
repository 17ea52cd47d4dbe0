import HoldfastPostgres
import HoldfastService

/// The tables, views and sequences in the schema `holdfast` that Holdfast did not make. A role named `holdfast` makes its tables there, unless
/// its `search_path` says otherwise.
struct PostgresStrangers {
  private static let find: PostgresStatement = """
    SELECT format('holdfast.%I', c.relname) FROM pg_class c
    WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND c.relname <> ALL ($1::text[]) AND NOT starts_with(c.relname::text, $2)
      AND c.oid NOT IN (SELECT r.oid FROM holdfast.tables t JOIN pg_class r ON r.oid = to_regclass(t.relation))
      AND NOT (c.relkind = 'S' AND EXISTS (
        SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')))
    ORDER BY 1
    """

  /// Their names, qualified and quoted.
  static func names(on connection: PostgresConnection) throws(PostgresError) -> [String] {
    var parameters = PostgresParameters(array: PostgresTables.ownNames.sorted())
    parameters.append(RemovedName.prefix)
    return try connection.query(find, parameters).texts
  }

  /// A doubt for each: backups of Holdfast leave it out, and Holdfast can't be removed.
  static func doubts(on connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    try names(on: connection).map { name in
      Finding(
        .structure,
        """
        \(name) is in Holdfast's schema and is not Holdfast's. No backup of Holdfast has it. Move it by ALTER TABLE \(name) SET SCHEMA \
        public, and give the role that made it a search_path without holdfast
        """)
    }
  }
}
