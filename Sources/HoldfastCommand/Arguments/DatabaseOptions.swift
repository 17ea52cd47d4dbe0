import HoldfastServer

// The options that locate the database.

extension [CommandForm.Option] {
  /// The options that locate the database.
  static var database: [CommandForm.Option] {
    [
      .init(
        name: "data", value: "DIR", help: "The data directory, for SQLite",
        alternatives: ["database", "database-direct"]),
      .init(
        name: "database", value: "URL",
        help: "The PostgreSQL database, such as postgres://user@host/name, in place of --data",
        alternatives: ["data"]),
      .init(
        name: "database-direct", value: "URL",
        help: "The same database without the pooler, when --database is PgBouncer in transaction mode",
        alternatives: ["data"]),
    ].settings
  }
}

extension Options {
  /// The location of the database.
  var location: DatabaseLocation {
    get throws(UsageError) {
      switch (self["data"], self["database"]) {
      case (let directory?, nil):
        if has("database-direct") { throw UsageError("--database-direct goes with --database.") }
        return .directory(directory)
      case (nil, let url?):
        return .postgres(PostgresLocation(url, direct: self["database-direct"]))
      case (nil, nil): throw UsageError("Say where the database is: --data DIR or --database URL.")
      case (_?, _?): throw UsageError("--data and --database exclude each other.")
      }
    }
  }
}
