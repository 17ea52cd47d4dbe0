package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

/// Creates the database of a server, or checks and migrates an existing one. Everything runs in one transaction under an advisory lock, so
/// nodes that start at the same time wait for each other.
package struct PostgresOpening {
  /// The opened database.
  package struct Opened {
    package let schema: SyncSchema
    package let history: History
    let prover: Prover
    package let layout: PostgresLayout
    /// The repairs, one line per table.
    package var repaired: [String] = []
  }

  /// The treatment of existing tables that are in the schema but not Holdfast's.
  package enum Standing {
    /// They are refused, because the name may be a coincidence.
    case refuse
    /// They are adopted.
    case adopt
  }

  package let connection: PostgresConnection
  let standing: Standing
  /// The treatment of tables and columns that the schema lacks.
  package let removals: Removals
  /// How the server opens the database; nil for other tools.
  package let service: DatabaseService?
  /// Whether the ledger is repaired from the tables.
  package let heals: Bool

  /// Opens the database; see `PostgresDatabase`.
  ///
  /// - Parameter fill: fills a new database, in the transaction that creates it. An existing database is refused then.
  /// - Throws: `ServerError` before anything is written; `PostgresError`.
  package static func open(
    _ location: PostgresLocation, schema: SyncSchema?, standing: Standing = .refuse,
    removals: Removals = .refuse,
    service: DatabaseService? = nil, heals: Bool = false, random: (Int) -> [UInt8],
    fill: ((PostgresConnection, PostgresLayout) throws -> Void)? = nil
  ) throws -> Opened {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    try requireUTF8(of: connection)
    if service != nil { try PoolerCheck.require(for: location, over: connection) }
    let opening = PostgresOpening(
      connection: connection, standing: standing, removals: removals, service: service, heals: heals)
    let (opened, later) = try opening.openWaiting(schema, random, fill)
    try PostgresIndexes.make(later, opened.layout, on: connection) { service?.log($0) }
    return opened
  }

  /// Refuses a database in another encoding: it can't store every text, or stores bytes that are none.
  static func requireUTF8(of connection: PostgresConnection) throws {
    let rows = try connection.query(
      "SELECT current_setting('server_encoding'), current_database()::text")
    let (encoding, database) = (rows.text(0, 0), rows.text(0, 1))
    guard encoding != "UTF8" else { return }
    throw ServerError(
      .refused,
      """
      The database \(database) has the encoding \(encoding), which can't store every text. Make another one: \
      `createdb --encoding UTF8 --template template0 NAME`, and load into it what this one has.
      """)
  }

  private static let nothing = ServerError(
    .schemaMissing, "The database has no Holdfast in it yet. Start the server once with --schema FILE.")
  /// Where `--must-exist` was given.
  package static let missing = ServerError(
    .databaseMissing,
    "The database has no Holdfast in it, and --must-exist forbids to make one. Is it the right database?")

  /// The schema in a database, whether or not its tables fit it.
  static func storedSchema(on connection: PostgresConnection) throws -> SyncSchema {
    let opening = PostgresOpening(
      connection: connection, standing: .refuse, removals: .refuse, service: nil, heals: false)
    guard try opening.hasHoldfast() else { throw nothing }
    return try SyncSchema(json: Array(opening.meta("schema").utf8))
  }

  /// Opens the database, in turns. A new one that is filled is nobody else's.
  private func openWaiting(
    _ given: SyncSchema?, _ random: (Int) -> [UInt8],
    _ fill: ((PostgresConnection, PostgresLayout) throws -> Void)?
  ) throws -> (Opened, PostgresTables) {
    if fill != nil { return try open(given, random, fill) }
    return try LockTurns.take(on: connection) { turn in
      if service?.isEnding() == true {
        throw ServerError(
          .unreachable,
          "A signal ended the start while it waited for locks.\(LockTurns.holders(on: connection))")
      }
      if turn.isMultiple(of: 20) {
        service?.log("The start waits for locks.\(LockTurns.holders(on: connection))")
      }
    } _: {
      try open(given, random, nil)
    }
  }

  /// - Returns: also the tables, whose indexes are created after the transaction.
  private func open(
    _ given: SyncSchema?, _ random: (Int) -> [UInt8],
    _ fill: ((PostgresConnection, PostgresLayout) throws -> Void)?
  ) throws -> (Opened, PostgresTables) {
    try connection.execute(
      """
      BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL client_min_messages = warning;
      SELECT pg_advisory_xact_lock(\(PostgresLock.opening.rawValue)); \(LockTurns.limit)
      """)
    do {
      let isNew = try !hasHoldfast()
      if fill != nil, !isNew {
        throw ServerError(.refused, "The database has a Holdfast in it. Make a new one, and restore into it.")
      }
      let identity = try PostgresIdentity(connection)
      // A change of the schema may feed records. Those are of the new epoch.
      var notices = try isNew ? [] : takeUp(identity)
      let before = try isNew ? nil : PostgresStructure(in: connection)
      let schema: SyncSchema
      var old: SyncSchema?
      if isNew {
        guard let given else { throw Self.nothing }
        if service?.mustExist == true { throw Self.missing }
        schema = given
        try checkRights()
        try makeOwn()
        try setMeta("epoch", hexadecimal(random(4)))
      } else {
        let stored = try SyncSchema(json: Array(meta("schema").utf8))
        old = stored
        schema = given ?? stored
      }
      let replaced = try old.map { try StoredColumns($0).replaced(on: connection) } ?? []
      if !replaced.isEmpty, !heals {
        throw ServerError(
          .damaged,
          "Columns are not those whose values the devices have:\n"
            + SchemaError(faults: replaced.map(\.fault)).description)
      }
      var tables = PostgresTables(schema: schema, namespace: try namespace())
      let rows = try connection.query("SELECT name, relation FROM holdfast.tables")
      for row in rows.indices { tables.known[rows.text(row, 0)] = rows.text(row, 1) }
      var work = PostgresExtension(connection, tables, standing, removals, heals: heals, replaced: replaced)
      let relations = try work.extend(from: old)
      tables = work.tables
      if schema != old { try setMeta("schema", schema.text) }
      var layout = PostgresLayout(schema, relations)
      layout.timeline = identity.timeline
      try fill?(connection, layout)
      let structure = try PostgresStructure.keep(since: before, on: connection)
      try StoredColumns(schema).keep(on: connection)
      if service != nil {
        if isNew { notices.append("The database is new: there was no Holdfast in it.") }
        try identity.store(connection)
        notices += work.repaired
        notices += try structure.missing(on: connection).map(\.description)
        let actions = try ReferentialActions(schema, layout, on: connection)
        notices += try PostgresTeamTriggers.warnings(on: connection, actions).map(\.description)
      }
      let history = try PostgresEpoch.history(connection.query(PostgresEpoch.find))
      let prover = try PostgresEpoch.prover(on: connection, random: random)
      try connection.execute("COMMIT")
      for notice in notices { service?.log(notice) }
      let opened = Opened(
        schema: schema, history: history, prover: prover, layout: layout, repaired: work.repaired)
      return (opened, tables)
    } catch let error as PostgresError where error.code == .readOnlyTransaction {
      try connection.execute("ROLLBACK")
      throw ServerError(
        .unreachable,
        """
        The database takes no writes: it is a standby, or default_transaction_read_only is on for the database or the role. Name the primary, \
        or reset the setting by ALTER DATABASE or ALTER ROLE.
        """)
    } catch let error as PostgresError where error.code == .insufficientPrivilege {
      try connection.execute("ROLLBACK")
      throw ServerError(.unreachable, "\(try whatIsMissing()) PostgreSQL says: \(error.message)")
    }
  }

  /// Begins a new epoch if the database is not the one that was served last. Without a service, a repair is refused then.
  ///
  /// - Returns: the messages for the operator.
  private func takeUp(_ identity: PostgresIdentity) throws -> [String] {
    guard service != nil || heals, let difference = try identity.difference(connection) else { return [] }
    guard let service else { throw ServerError(.refused, PostgresEpoch.replaced) }
    if try PostgresIdentity.isBeingRestored(connection) {
      throw ServerError(.unreachable, PostgresIdentity.beingRestored)
    }
    return [try identity.takeUp(difference, service, on: connection)]
  }

  /// Whether the database has a schema `holdfast`.
  ///
  /// - Throws: `ServerError` if the schema belongs to another program, or to a newer version.
  private func hasHoldfast() throws -> Bool {
    let rows = try connection.query(
      """
      SELECT to_regclass('holdfast.meta') IS NOT NULL, (SELECT rolname FROM pg_roles WHERE oid = n.nspowner)::text
      FROM pg_namespace n WHERE n.nspname = 'holdfast'
      """)
    if rows.isEmpty { return false }
    let found =
      try rows.bool(0, 0)
      ? connection.query("SELECT value FROM holdfast.meta WHERE key = 'format'") : nil
    guard let found, !found.isEmpty, let format = Int64(found.text(0, 0)) else {
      throw ServerError(
        .notOurs,
        "The database has a schema named holdfast that is not ours. Rename it, or name another database.")
    }
    if format > PostgresTables.format {
      throw ServerError(
        .newer,
        "The database was written by a newer Holdfast (format \(format)). Start that version, or update this one."
      )
    }
    return true
  }

  private func makeOwn() throws(PostgresError) {
    try connection.execute(PostgresTables.own)
    try setMeta("format", String(PostgresTables.format))
  }

  private func namespace() throws -> String {
    let rows = try connection.query("SELECT current_schema()::text")
    guard let name = rows.optionalText(0, 0) else {
      throw ServerError(
        .unreachable, "No schema of the role's search_path is there. Make one, or set search_path.")
    }
    return name
  }

  private func checkRights() throws {
    let rows = try connection.query(
      "SELECT has_database_privilege(current_database(), 'CREATE'), current_database()::text, current_user::text"
    )
    if !rows.bool(0, 0) {
      throw ServerError(.unreachable, Self.grantCreate(database: rows.text(0, 1), role: rows.text(0, 2)))
    }
  }

  private static func grantCreate(database: String, role: String) -> String {
    """
    The role \(role) may not make schemas in the database \(database). Grant it: \
    GRANT CREATE ON DATABASE \(PostgresName.quoted(database)) TO \(PostgresName.quoted(role)).
    """
  }

  private func whatIsMissing() throws -> String {
    let rows = try connection.query(
      "SELECT current_user::text, coalesce(current_schema(), '')::text")
    let (role, schema) = (PostgresName.quoted(rows.text(0, 0)), PostgresName.quoted(rows.text(0, 1)))
    return """
      The role \(role) lacks a right. It needs CREATE on the schema \(schema) for the tables that it makes; SELECT, INSERT, UPDATE, DELETE, \
      TRIGGER and REFERENCES on those that it adopts; and to be the owner of the schema holdfast.
      """
  }

  private func meta(_ key: String) throws -> String {
    guard let value = try metaIfAny(key) else {
      throw ServerError(.damaged, "The database has no \(key): it is damaged. Restore it from a backup.")
    }
    return value
  }

  private func metaIfAny(_ key: String) throws -> String? {
    let rows = try connection.query(
      "SELECT value FROM holdfast.meta WHERE key = $1", PostgresParameters(key))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  private func setMeta(_ key: String, _ value: String) throws(PostgresError) {
    try connection.run(
      "INSERT INTO holdfast.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
      PostgresParameters(key, value))
  }
}
