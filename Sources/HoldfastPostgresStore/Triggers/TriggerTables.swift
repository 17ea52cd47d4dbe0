import HoldfastCore
import HoldfastService

/// The tables as the triggers see them: how they are called, and in which zone a record belongs as they say it.
struct TriggerTables {
  let schema: SyncSchema
  /// One entry for each table of the schema, at its index.
  let relations: [PostgresRelation]

  /// The name of a function of a table, quoted, with its schema.
  func function(_ index: Int, _ purpose: String) -> String {
    "holdfast." + PostgresName.made(schema.tables[index].name, purpose)
  }

  /// The name of a table of the schema as a literal.
  func name(_ index: Int) -> String { "'\(schema.tables[index].name)'" }

  /// Settings of functions that look rows up by their keys. No plan of them depends on what PostgreSQL believes of how many rows there are: it
  /// has but nested loops, in the order of the laterals, each with an index inside, and so it is planned once for each connection.
  ///
  /// A reference of an adopted table may have no index. Its table is read whole then, and only a plan for the ids at hand hashes them.
  var keyed: String {
    let mode = relations.contains { $0.isAdopted } ? "force_custom_plan" : "force_generic_plan"
    return LedgerFunctions.keyed + " SET plan_cache_mode = \(mode)"
  }

  // MARK: Zones

  /// Where the zone of a table's records is read.
  ///
  /// Each join is LATERAL with OFFSET 0 or LIMIT, which PostgreSQL never reorders: one look into an index for each row, whatever the statistics
  /// say. It is so in all statements of the triggers.
  struct ZoneSource {
    /// Joins behind the table, whose alias is `t`.
    var joins = ""
    /// The zone; null when a parent is not there.
    var zone: String
  }

  /// The zone of the records of a table, found by its columns and by the records above them.
  ///
  /// - Parameter home: the user to whom a new record of a user belongs: `home`, a variable of the functions, is who `holdfast.account` names.
  func zoneSource(_ index: Int, home: String = "home") -> ZoneSource {
    var source = ZoneSource(zone: "")
    var (table, row) = (index, "t")
    while true {
      switch schema.tables[table].zone {
      case .root: source.zone = relations[table].id.id(row)
      case .public(let name): source.zone = "'\(name)'::text"
      case .explicit, .server: source.zone = "\(row).\"zone\""
      case .user:
        source.joins += """
           LEFT JOIN LATERAL (SELECT r.zone FROM holdfast.records r WHERE r.record_table = \(name(table)) AND r.state = 0
            AND r.id = \(relations[table].id.id(row)) LIMIT 1) g ON true
          """
        source.zone = "CASE WHEN \(row).\"id\" IS NOT NULL THEN coalesce(g.zone, \(home)) END"
      case .parent:
        guard let (link, column) = parent(of: table) else { preconditionFailure("The schema was checked.") }
        if schema.tables[link.target].zone == .root {
          source.zone = column.id(row)
        } else {
          let above = "\(row)p"
          let target = relations[link.target]
          source.joins += """
             LEFT JOIN LATERAL (SELECT a.* FROM \(target.relation) a WHERE a.\(target.id.quoted) = \(row).\(column.quoted) OFFSET 0) \(above)
              ON true
            """
          (table, row) = (link.target, above)
          continue
        }
      }
      return source
    }
  }

  /// The reference that decides a table's zone, and its column; nil when another rule does.
  package func parent(of index: Int) -> (link: SyncSchema.Link, column: PostgresColumn)? {
    guard case .parent(let name) = schema.tables[index].zone,
      let link = schema.links(of: index).first(where: { schema.tables[index].columns[$0.column].name == name }
      )
    else { return nil }
    return (link, relations[index].columns[link.column])
  }

  /// The tables whose records go where those of this one go, with the reference by which they do.
  package func children(of index: Int) -> [(table: Int, column: PostgresColumn)] {
    schema.tables.indices.compactMap { child in
      guard let (link, column) = parent(of: child), link.target == index else { return nil }
      return (child, column)
    }
  }

  /// The table at the end of the parents.
  func ground(of index: Int) -> Int {
    var index = index
    while let (link, _) = parent(of: index) { index = link.target }
    return index
  }

  /// Whether zones of this table's records may have to be made: each root record is one.
  func makesZones(_ index: Int) -> Bool { schema.tables[ground(of: index)].zone == .root }

  /// Whether a record's zone is said by the record alone, whatever stands in other tables.
  func isPlain(_ index: Int) -> Bool {
    switch schema.tables[index].zone {
    case .parent: parent(of: index).map { schema.tables[$0.link.target].zone == .root } ?? false
    case .user: false
    case .root, .public, .explicit, .server: true
    }
  }

  /// Whether records of this table belong to the zone of a user in the end.
  func isUsers(_ index: Int) -> Bool { schema.tables[ground(of: index)].zone == .user }

  /// The zone of a record as its row says it; nil for a table without a zone whose records are found by those above them.
  func rowZone(_ index: Int, _ row: String) -> String? {
    if relations[index].hasZone { return "\(row).\"zone\"" }
    switch schema.tables[index].zone {
    case .root: return relations[index].id.id(row)
    case .public(let name): return "'\(name)'::text"
    case .parent: return isPlain(index) ? parent(of: index)?.column.id(row) : nil
    case .explicit, .server, .user: return nil
    }
  }

  /// Locks the zones of `ids`, and puts where the records are in `places`.
  package func find(_ index: Int) -> String {
    rowZone(index, "n") == nil ? "places := holdfast.locate(\(name(index)), ids);" : Self.hold
  }

  /// Locks the zones in `places`.
  package static let hold = "PERFORM holdfast.lock_zones(ARRAY(SELECT DISTINCT p FROM unnest(places) p));"
}
