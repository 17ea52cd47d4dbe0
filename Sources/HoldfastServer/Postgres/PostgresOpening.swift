import HoldfastCore
import HoldfastPostgres

/// Makes the database of a server, or checks and extends the one that is there.
enum PostgresOpening {
  /// What was found or made.
  struct Opened {
    let schema: Schema
    let epoch: String
    let layout: PostgresLayout
  }

  /// Opens the database; see `PostgresDatabase`.
  static func open(_ location: PostgresLocation, schema: Schema?, random: (Int) -> [UInt8]) throws -> Opened {
    let connection = try location.connectDirectly(.opens)
    try connection.execute("BEGIN; SELECT pg_advisory_xact_lock(5216694956356254582)")
    defer { connection.close() }
    let isThere = try !connection.query("SELECT 1 FROM pg_namespace WHERE nspname = 'holdfast'").isEmpty
    if isThere {
      let rows = try connection.query(
        "SELECT (SELECT value FROM holdfast.meta WHERE key = 'schema'), (SELECT value FROM holdfast.meta WHERE key = 'epoch')"
      )
      let stored = try Schema(json: Array(rows.text(0, 0).utf8))
      try connection.execute("COMMIT")
      return Opened(schema: stored, epoch: rows.text(0, 1), layout: layout(stored))
    }
    guard let schema else { throw ServerError(.schemaMissing, "There is no schema.") }
    try connection.execute(PostgresTables(schema: schema).all)
    let epoch = random(4).map { hexadecimal($0) }.joined()
    for (key, value) in [("epoch", epoch), ("schema", schema.text)] {
      try connection.run(
        "INSERT INTO holdfast.meta (key, value) VALUES ($1, $2)", PostgresParameters(key, value))
    }
    for zone in schema.publicZones {
      try connection.run(
        "INSERT INTO holdfast.zones (zone, seq, public) VALUES ($1, 0, true)", PostgresParameters(zone))
    }
    try connection.execute("COMMIT")
    return Opened(schema: schema, epoch: epoch, layout: layout(schema))
  }

  private static func layout(_ schema: Schema) -> PostgresLayout {
    let tables = PostgresTables(schema: schema)
    return PostgresLayout(
      schema,
      relations: schema.tables.enumerated().map { index, table in
        PostgresLayout.Relation(
          table: table.name, name: tables.relation(of: index), hasZone: true,
          columns: table.columns.map {
            PostgresLayout.Column(
              name: "\"\($0.name)\"", read: "t.\"\($0.name)\"", cast: $0.type == .json ? "::json" : "",
              type: $0.type)
          })
      })
  }
}
