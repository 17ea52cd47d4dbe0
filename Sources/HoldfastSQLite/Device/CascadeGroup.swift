import HoldfastCore

/// Tables whose records one deletion deletes together, and in no order:
///
/// - A table that references itself, or several tables in a cycle. SQLite runs a trigger recursively only with `recursive_triggers=ON`, which is off by
///   default. Deep trees need no deep recursion.
/// - All tables that a deletion cascades to, if one of them restricts the deletion of another: both go, whichever comes first.
///
/// The first deletion finds all these records with one query, records them, and deletes them. The triggers of these rows then have nothing left to do.
struct CascadeGroup {
  private let schema: SyncSchema
  private let root: Int
  /// The tables of the group, including the one where the deletion begins.
  private let tables: [Int]

  /// The groups of deletions that begin in each table; nil where its trigger and those of the rows below can delete row by row.
  static func all(in schema: SyncSchema) -> [CascadeGroup?] {
    let below = schema.tables.indices.map { reached(from: $0, in: schema) }
    return schema.tables.indices.map { root in
      let all = below[root].union([root])
      let restricts = schema.links.contains {
        $0.isInZone && $0.onDelete == .restrict && all.contains($0.table) && all.contains($0.target)
      }
      let tables = restricts ? all : below[root].filter { below[$0].contains(root) }
      return tables.isEmpty ? nil : CascadeGroup(schema: schema, root: root, tables: tables.sorted())
    }
  }

  func contains(_ table: Int) -> Bool { tables.contains(table) }

  /// The tables that a deletion in a table cascades to.
  private static func reached(from start: Int, in schema: SyncSchema) -> Set<Int> {
    var (found, next): (Set<Int>, [Int]) = ([], [start])
    while let index = next.popLast() {
      for link in schema.links(to: index) where link.isInZone && link.onDelete == .cascade {
        if found.insert(link.table).inserted { next.append(link.table) }
      }
    }
    return found
  }

  /// An SQL condition: whether a record is deleted by a cascade that is already recorded.
  static func isCascaded(_ table: String, _ id: String) -> String {
    "EXISTS (SELECT 1 FROM holdfast_cascaded WHERE record_table = '\(table)' AND id = \(id))"
  }

  /// The actions of the trigger of the first deletion.
  func actions(refusal: (String) -> String) -> [String] {
    var (checks, records, references, deletions): ([String], [String], [String], [String]) = ([], [], [], [])
    for index in tables {
      let table = schema.tables[index]
      checks += restrictions(index, refusal)
      records.append(recording(table, ids(index)))
      references += endings(index)
      deletions.append("DELETE FROM \"\(table.name)\" WHERE \"id\" IN \(ids(index))")
    }
    return [closure()] + checks + records + references + deletions
      + ["DELETE FROM holdfast_cascaded WHERE root = \(key)"]
  }

  /// The deleted record, and every record that its deletion cascades to within the group.
  private func closure() -> String {
    let steps = schema.links.filter {
      $0.isInZone && $0.onDelete == .cascade && tables.contains($0.table) && tables.contains($0.target)
    }.map { link in
      let child = schema.tables[link.table]
      return """
        SELECT '\(child.name)', child."id" FROM holdfast_below AS below CROSS JOIN "\(child.name)" AS child \
        ON child."\(child.columns[link.column].name)" = below.id WHERE below.name = '\(schema.tables[link.target].name)'
        """
    }
    let root = "SELECT '\(schema.tables[root].name)', OLD.\"id\""
    return """
      INSERT INTO holdfast_cascaded (root, record_table, id) SELECT \(key), name, id FROM (WITH RECURSIVE holdfast_below(name, id) \
      AS (\(([root] + steps).joined(separator: " UNION "))) SELECT name, id FROM holdfast_below)
      """
  }

  /// What tells this deletion from another one that it leads to, of a record of another table, which may have the same id.
  private var key: String { "'\(schema.tables[root].name) ' || OLD.\"id\"" }

  private func ids(_ table: Int) -> String {
    "(SELECT id FROM holdfast_cascaded WHERE root = \(key) AND record_table = '\(schema.tables[table].name)')"
  }

  private func recording(_ table: TableSchema, _ ids: String) -> String {
    """
    \(DeviceTables.intoEdits) SELECT '\(table.name)', here."id", 'delete', \
    names.column1, \(DeviceTables.value(of: table, "here")), here."rev", \(DeviceTables.now) FROM "\(table.name)" AS here \
    CROSS JOIN \(DeviceTables.names(of: table)) AS names WHERE here."id" IN \(ids)
    """
  }

  /// An SQL condition: a record references a record of the group, and is not deleted with it.
  private func stays(_ link: SyncSchema.Link) -> String {
    let column = schema.tables[link.table].columns[link.column].name
    let refers = "\"\(column)\" IN \(ids(link.target))"
    return tables.contains(link.table) ? "\(refers) AND \"id\" NOT IN \(ids(link.table))" : refers
  }

  private func restrictions(_ index: Int, _ refusal: (String) -> String) -> [String] {
    schema.links(to: index).filter { $0.isInZone && $0.onDelete == .restrict }.map { link in
      let child = schema.tables[link.table].name
      return refusal("records of \(child) still refer to one that goes with this")
        + " WHERE EXISTS (SELECT 1 FROM \"\(child)\" WHERE \(stays(link)))"
    }
  }

  /// The effect on references to records of the group from outside it.
  private func endings(_ index: Int) -> [String] {
    schema.links(to: index).compactMap { link in
      guard link.isInZone else { return nil }
      let child = schema.tables[link.table]
      let column = child.columns[link.column].name
      switch link.onDelete {
      case .cascade where tables.contains(link.table), .restrict: return nil
      case .cascade: return "DELETE FROM \"\(child.name)\" WHERE \(stays(link))"
      case .setNull: return "UPDATE \"\(child.name)\" SET \"\(column)\" = NULL WHERE \(stays(link))"
      }
    }
  }
}
