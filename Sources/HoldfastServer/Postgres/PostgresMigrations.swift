import HoldfastPostgres

/// The steps by which the schema `holdfast` came to its form, each with the number of the format that it makes. A new database takes them all;
/// one that stands takes those that it has not had. A step that was released never changes.
enum PostgresMigrations {
  static let all: [(number: Int64, sql: String)] = [
    (1, PostgresTables.own), (2, PostgresRequestStatements.tables),
    (3, PostgresTables.results), (4, PostgresTables.identity), (5, PostgresTables.forgetting),
  ]

  /// The same for a database whose tables are distributed: the numbers are those of `all`.
  static let distributed: [(number: Int64, sql: String)] = [
    (1, PostgresShards.own), (2, PostgresRequestStatements.tables),
    (3, PostgresTables.results), (4, PostgresTables.identity), (5, PostgresTables.shardForgetting),
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
    try connection.run(
      "INSERT INTO holdfast.meta (key, value) VALUES ('format', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      PostgresParameters(String(newest)))
  }
}
