import HoldfastCore
import HoldfastService

/// The tables from the triggers' point of view: their names, and the zones of their records.
struct TriggerTables {
  let schema: SyncSchema
  /// One entry per table of the schema, by index.
  let relations: [PostgresRelation]

  /// The quoted and qualified name of a function of a table.
  func function(_ index: Int, _ purpose: String) -> String {
    "holdfast." + PostgresName.made(schema.tables[index].name, purpose)
  }

  /// The name of a table of the schema as an SQL literal.
  func name(_ index: Int) -> String { "'\(schema.tables[index].name)'" }

  /// The settings of functions that look rows up by key. Their plans must not depend on statistics: only nested loops remain, in the
  /// order of the laterals, each with an index inside. Each statement is thus planned once per connection.
  ///
  /// A reference of an adopted table may have no index. Its table is then scanned, and only a plan for the current ids can hash them.
  var keyed: String {
    let mode = relations.contains { $0.isAdopted } ? "force_custom_plan" : "force_generic_plan"
    return LedgerFunctions.keyed + " SET row_security = off SET plan_cache_mode = \(mode)"
  }

  // MARK: Zones

  /// The SQL that finds the zone of a table's records.
  ///
  /// Each join is LATERAL with OFFSET 0 or LIMIT, which PostgreSQL never reorders: one index look-up per row, whatever the statistics are.
  /// All statements of the triggers use this form.
  struct ZoneSource {
    /// The joins after the table, whose alias is `t`.
    var joins = ""
    /// The expression of the zone; null if a parent does not exist.
    var zone: String
  }

  /// The zone of a table's records, by their columns and their parents.
  ///
  /// - Parameter home: the expression of the user who owns a new record of a user's table. The functions' variable `home` contains the
  ///   user that `holdfast.account` names.
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
             LEFT JOIN LATERAL (SELECT a.* FROM \(target.relation) a WHERE a.\(target.id.quoted) = \(target.id.key(of: column, row)) OFFSET 0) \(above)
              ON true
            """
          (table, row) = (link.target, above)
          continue
        }
      }
      return source
    }
  }

  /// The reference that decides a table's zone, and its column; nil for another zone rule.
  package func parent(of index: Int) -> (link: SyncSchema.Link, column: PostgresColumn)? {
    guard case .parent(let name) = schema.tables[index].zone,
      let link = schema.links(of: index).first(where: { schema.tables[index].columns[$0.column].name == name }
      )
    else { return nil }
    return (link, relations[index].columns[link.column])
  }

  /// The tables whose records move along with those of this table, with the reference.
  package func children(of index: Int) -> [(table: Int, column: PostgresColumn)] {
    schema.tables.indices.compactMap { child in
      guard let (link, column) = parent(of: child), link.target == index else { return nil }
      return (child, column)
    }
  }

  /// The table at the top of the parents.
  func ground(of index: Int) -> Int {
    var index = index
    while let (link, _) = parent(of: index) { index = link.target }
    return index
  }

  /// Whether records of this table may require new zones, because each root record is a zone.
  func makesZones(_ index: Int) -> Bool { schema.tables[ground(of: index)].zone == .root }

  /// Whether a record's zone follows from the record alone.
  func isPlain(_ index: Int) -> Bool {
    switch schema.tables[index].zone {
    case .parent: parent(of: index).map { schema.tables[$0.link.target].zone == .root } ?? false
    case .user: false
    case .root, .public, .explicit, .server: true
    }
  }

  /// Whether the table's records are in users' zones, directly or by their parents.
  func isUsers(_ index: Int) -> Bool { schema.tables[ground(of: index)].zone == .user }

  /// The expression of a record's zone from its row; nil if only the parents know the zone.
  func rowZone(_ index: Int, _ row: String) -> String? {
    if relations[index].hasZone { return "\(row).\"zone\"" }
    switch schema.tables[index].zone {
    case .root: return relations[index].id.id(row)
    case .public(let name): return "'\(name)'::text"
    case .parent: return isPlain(index) ? parent(of: index)?.column.id(row) : nil
    case .explicit, .server, .user: return nil
    }
  }

  /// Locks the zones of `ids`, and sets `places` to the zones of the records.
  package func find(_ index: Int) -> String {
    rowZone(index, "n") == nil ? "places := holdfast.locate(\(name(index)), ids);" : Self.hold
  }

  /// Locks the zones in `places`.
  package static let hold = "PERFORM holdfast.lock_zones(ARRAY(SELECT DISTINCT p FROM unnest(places) p));"
}
