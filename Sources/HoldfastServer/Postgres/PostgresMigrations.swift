import HoldfastPostgres

/// The steps by which the schema `holdfast` came to its form, each with the number of the format that it makes. A new database takes them all;
/// one that stands takes those that it has not had. A step that was released never changes.
enum PostgresMigrations {
  static let all: [(number: Int64, sql: String)] = [
    (1, PostgresTables.own), (2, PostgresRequestStatements.tables),
    (3, PostgresTables.results), (4, PostgresTables.identity), (5, PostgresTables.purging),
    (6, PostgresTables.access), (7, PostgresTables.restoring), (8, PostgresTables.erasing),
    (9, PostgresTables.bases), (10, PostgresTables.consents + PostgresTables.proofs),
  ]

  /// The same for a database whose tables are distributed: the numbers are those of `all`.
  static let distributed: [(number: Int64, sql: String)] = [
    (1, PostgresShards.own), (2, PostgresRequestStatements.tables),
    (3, PostgresTables.results), (4, PostgresTables.identity), (5, PostgresTables.shardRetention),
    (6, PostgresTables.access), (7, PostgresTables.restoring), (8, PostgresTables.erasing),
    (9, PostgresTables.bases), (10, PostgresTables.consents + PostgresTables.proofs),
  ]

  /// The format that this version makes and takes.
  static var newest: Int64 { all.last?.number ?? 0 }

  /// Takes the steps behind `format`, in the transaction of `connection`.
  ///
  /// - Parameter isDistributed: which of the layouts the database has.
  static func run(
    after format: Int64, isDistributed: Bool, on connection: PostgresConnection
  ) throws(PostgresError) {
    for step in isDistributed ? distributed : all where step.number > format {
      try connection.execute(step.sql)
    }
    if 1..<6 ~= format { try connection.execute(PostgresTables.groups) }
    if 1..<10 ~= format {
      try connection.execute(PostgresTables.inviter)
      try connection.execute(PostgresTables.sessions)
    }
    if format > 0 { try addAccess(after: format, on: connection) }
    try connection.run(
      "INSERT INTO holdfast.meta (key, value) VALUES ('format', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      PostgresParameters(String(newest)))
  }

  /// Works out the access that members have where there are no groups: in what was made by a format before them. A row at a time, which both layouts
  /// take.
  static func addAccess(after format: Int64, on connection: PostgresConnection) throws(PostgresError) {
    guard format < 6 else { return }
    let rows = try connection.query(PostgresTables.findMembers)
    for row in rows.indices {
      try connection.run(
        PostgresTables.addAccess, PostgresParameters(rows.text(row, 0), rows.text(row, 1), rows.text(row, 2)))
    }
  }
}
