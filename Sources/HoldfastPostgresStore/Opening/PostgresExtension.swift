import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Migrates the tables of the database to the schema, inside the transaction of the opening: creates new parts, and checks existing ones.
struct PostgresExtension {
  private let connection: PostgresConnection
  private(set) var tables: PostgresTables
  private let standing: PostgresOpening.Standing
  private let removals: Removals
  /// Whether the ledger is repaired from the tables.
  private let heals: Bool
  /// The columns that are not those whose values the devices have.
  private let replaced: [StoredColumns.Replaced]
  /// The repairs, one line per table.
  private(set) var repaired: [String] = []
  /// Whether others have changed the functions of the triggers. The change of a schema drops some of its own.
  private var functionsAreOthers = false
  private var schema: SyncSchema { tables.schema }

  init(
    _ connection: PostgresConnection, _ tables: PostgresTables, _ standing: PostgresOpening.Standing,
    _ removals: Removals, heals: Bool, replaced: [StoredColumns.Replaced]
  ) {
    self.connection = connection
    self.tables = tables
    self.standing = standing
    self.removals = removals
    self.heals = heals
    self.replaced = replaced
  }

  /// Migrates from a schema.
  ///
  /// - Parameter old: the schema of the database; nil for a new database.
  /// - Returns: the migrated tables.
  /// - Throws: `ServerError`.
  mutating func extend(from old: SyncSchema?) throws -> [PostgresRelation] {
    functionsAreOthers = try TriggerFunctions.areOthers(on: connection)
    var difference: SchemaDifference?
    if let old, old != schema {
      let found = try SchemaDifference(serving: schema, after: old, removals)
      difference = found
      var change = try PostgresSchemaChange(connection, from: old, tables, found)
      try change.run()
      tables = change.after
    }
    let new = old == nil ? Array(schema.tables.indices) : difference?.tables ?? []
    var adopted: [Int] = []
    for table in new where try register(table) { adopted.append(table) }
    tables.withUUIDs = try tablesWithUUIDs()
    for table in new where !adopted.contains(table) { try connection.execute(tables.create(table)) }
    for table in new where !adopted.contains(table) {
      for reference in tables.references(of: table) { try connection.execute(reference) }
    }
    try add(difference?.columns ?? [])
    for (table, columns) in difference?.droppedIndexes ?? [] {
      try PostgresIndexes.drop(columns, of: table, tables, on: connection)
    }
    let added = try addPublicZones()
    // Those of the database's schema were lost.
    let lost = added.filter { old?.publicZones.contains($0) == true }
    repaired += lost.map { "repaired: the public zone \($0)" }
    let (relations, catalogs) = try load()
    try ZoneFence(connection).fence(lost)
    try installAndFeed(relations, catalogs, new, difference, adopted)
    if heals || difference?.changesSizes(in: schema) ?? false {
      let layout = PostgresLayout(schema, relations)
      let count = try PostgresCounting(layout: layout, connection: connection).mend()
      if heals, count > 0 { repaired.append("repaired: what \(count) zones hold") }
    }
    return relations
  }

  private mutating func installAndFeed(
    _ relations: [PostgresRelation], _ catalogs: [PostgresCatalog], _ new: [Int],
    _ difference: SchemaDifference?, _ adopted: [Int]
  ) throws {
    let rewritten = difference?.kept.filter(\.isRewritten).map(\.index) ?? []
    try install(relations, catalogs, new: new + rewritten)
    let repair = PostgresRepair(
      connection: connection, triggers: TriggerTables(schema: schema, relations: relations),
      replaced: replaced)
    for table in adopted { try repair.settle(table) }
    if heals { repaired += try repair.run() }
  }

  /// Stores the relation of a table.
  ///
  /// - Returns: whether it is an existing table that is adopted now.
  private mutating func register(_ index: Int) throws -> Bool {
    let table = schema.tables[index]
    let name = tables.relation(of: index)
    let rows = try connection.query(
      "SELECT format('%I.%I', relnamespace::regnamespace::text, relname) FROM pg_class WHERE oid = to_regclass($1)",
      PostgresParameters(table.isBuiltIn ? name : "\"\(table.name)\""))
    let isStanding = !rows.isEmpty
    if isStanding, standing == .refuse {
      throw ServerError(.refused, SchemaFit.taken(table.name))
    }
    let relation = isStanding ? rows.text(0, 0) : name
    try connection.run(
      "INSERT INTO holdfast.tables (name, relation, adopted) VALUES ($1, $2, $3)",
      PostgresParameters(table.name, relation, isStanding))
    // An adopted table may be in another schema of `search_path` than the tables that Holdfast makes.
    tables.known[table.name] = relation
    return isStanding
  }

  /// The adopted tables whose ids are of the type `uuid`, or of a domain over it.
  private func tablesWithUUIDs() throws -> TextSet {
    let rows = try connection.query("SELECT name, relation FROM holdfast.tables WHERE adopted")
    if rows.isEmpty { return [] }
    let catalogs = try PostgresCatalog.read(rows.indices.map { rows.text($0, 1) }, on: connection)
    let found = rows.indices.filter { catalogs[rows.text($0, 1)]?.column("id")?.column?.kind == .uuid }
    return TextSet(found.map { rows.text($0, 0) })
  }

  /// Adds new columns to tables that Holdfast created. The team adds those of adopted tables.
  private func add(_ columns: [(table: Int, column: Int)]) throws {
    if columns.isEmpty { return }
    let rows = try connection.query("SELECT name FROM holdfast.tables WHERE adopted")
    let adopted = TextSet(rows.indices.map { rows.text($0, 0) })
    for (table, column) in columns where !adopted.contains(schema.tables[table].name) {
      try connection.execute(
        "ALTER TABLE \(tables.relation(of: table)) ADD COLUMN \(tables.column(column, of: table))")
      for link in schema.links(of: table) where link.column == column {
        try connection.execute(tables.reference(of: link, isChecked: false))
      }
    }
  }

  /// - Returns: the zones that were not there.
  private func addPublicZones() throws -> [String] {
    var added: [String] = []
    for zone in schema.publicZones {
      added += try connection.query(
        "INSERT INTO holdfast.zones (zone, seq, public) VALUES ($1, 0, true) ON CONFLICT DO NOTHING RETURNING zone",
        PostgresParameters(zone)
      ).texts
      let rows = try connection.query(
        "SELECT public FROM holdfast.zones WHERE zone = $1", PostgresParameters(zone))
      if !rows.bool(0, 0) { throw ServerError.taken(publicZone: zone) }
    }
    return added
  }

  /// Reads the tables from the catalog.
  ///
  /// - Returns: them and their catalogs, in the order of the schema's tables.
  /// - Throws: `ServerError` with all mismatches between tables and schema.
  private func load() throws -> ([PostgresRelation], [PostgresCatalog]) {
    let rows = try connection.query("SELECT name, relation, adopted FROM holdfast.tables")
    var known: TextMap<(relation: String, isAdopted: Bool)> = [:]
    for row in rows.indices { known[rows.text(row, 0)] = (rows.text(row, 1), rows.bool(row, 2)) }
    let found = try PostgresCatalog.read(known.values.map(\.relation), on: connection)
    var faults: [SchemaError.Fault] = []
    var (relations, catalogs): ([PostgresRelation], [PostgresCatalog]) = ([], [])
    for (index, table) in schema.tables.enumerated() {
      guard let (name, isAdopted) = known[table.name], let catalog = found[name]
      else {
        faults.append(SchemaFit.missing(table))
        continue
      }
      let mismatches = AdoptionCheck(schema, index, catalog, isAdopted: isAdopted).faults { target in
        known[target].flatMap { found[$0.relation]?.relation }
      }
      faults += mismatches
      if let relation = catalog.relation(for: table, isAdopted: isAdopted) {
        relations.append(relation)
        catalogs.append(catalog)
      } else if mismatches.isEmpty {
        faults.append(
          .init("tables.\(table.name)", "The table has changed; its columns don't fit the schema."))
      }
    }
    let actions = try ReferentialActions(schema, on: connection) {
      known[$0].flatMap { found[$0.relation]?.relation }
    }
    faults += actions.faults()
    if standing == .adopt {
      faults += try PostgresTeamTriggers.faults(on: connection, actions).map {
        .init("tables", $0)
      }
    }
    if !faults.isEmpty {
      throw ServerError(
        .schemaCannotChange,
        "The tables and the schema don't fit:\n" + SchemaError(faults: faults).description)
    }
    return (relations, catalogs)
  }

  /// Installs functions and triggers that are new, or differ from those of this version and schema.
  private mutating func install(
    _ relations: [PostgresRelation], _ catalogs: [PostgresCatalog], new: [Int]
  ) throws {
    let triggers = PostgresTriggers(schema: schema, relations: relations)
    let functions = triggers.functions
    let mark = Fingerprint(of: functions).text
    let known = try connection.query("SELECT value FROM holdfast.meta WHERE key = 'triggers'")
    var missing: [Int] = []
    for index in schema.tables.indices {
      let isComplete = triggers.triggers(of: index).allSatisfy { catalogs[index].triggers.contains($0.name) }
      if !isComplete, !new.contains(index) { missing.append(index) }
    }
    if !missing.isEmpty, standing == .refuse, !heals {
      let names = missing.map { schema.tables[$0].name }.joined(separator: ", ")
      throw ServerError(
        .damaged,
        """
        Triggers of \(names) are missing or switched off: what SQL has changed since is not known. \
        `holdfast doctor --repair` puts them back, and feeds what has changed.
        """)
    }
    if functionsAreOthers, missing.isEmpty { repaired.append("repaired: the functions of the triggers") }
    // With its function a trigger is gone, too.
    if known.isEmpty || known.text(0, 0) != mark || !missing.isEmpty || functionsAreOthers {
      try connection.execute(functions)
      try TriggerFunctions.keep(on: connection)
      // With its function a default is gone, too.
      for (relation, catalog) in zip(relations, catalogs)
      where !relation.isAdopted && catalog.column("id")?.defaultExpression == nil {
        try connection.execute(
          "ALTER TABLE \(relation.relation) ALTER COLUMN id SET DEFAULT \(PostgresRelation.newID)")
      }
      try connection.run(
        "INSERT INTO holdfast.meta (key, value) VALUES ('triggers', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        PostgresParameters(mark))
    }
    for index in Set(new + missing).sorted() {
      for (name, sql) in triggers.triggers(of: index) where !catalogs[index].triggers.contains(name) {
        try connection.execute("DROP TRIGGER IF EXISTS \(name) ON \(relations[index].relation); " + sql)
      }
    }
    if heals {
      repaired += missing.map { "repaired: the triggers of \(schema.tables[$0].name)" }
      return
    }
    let repair = PostgresRepair(connection: connection, triggers: triggers.tables, replaced: [])
    for index in missing { try repair.settle(index) }
  }
}
