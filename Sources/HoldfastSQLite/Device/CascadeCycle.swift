import HoldfastCore

/// Tables whose deletions come back to themselves by cascades: a table of which records refer to others of its own, or several in a circle.
///
/// SQLite runs a trigger inside itself only with `recursive_triggers=ON`, which is no program's default. So the first deletion finds all that goes
/// with it by one query, records it, and deletes it; the triggers of the rows that it deletes have nothing left to do. Deep trees need no deep recursion.
struct CascadeCycle {
  private let schema: SyncSchema
  private let root: Int
  /// The tables of the circle, with the one that a deletion begins in.
  private let tables: [Int]

  /// - Parameter table: the one that a deletion begins in; nil is given for one that is in no circle.
  init?(of table: Int, in schema: SyncSchema) {
    let below = schema.tables.indices.map { index in
      Set(schema.links(to: index).filter { $0.isInZone && $0.onDelete == .cascade }.map(\.table))
    }
    func reached(from start: Int) -> Set<Int> {
      var (found, next) = (below[start], Array(below[start]))
      while let index = next.popLast() {
        for child in below[index] where found.insert(child).inserted { next.append(child) }
      }
      return found
    }
    let mine = reached(from: table)
    guard mine.contains(table) else { return nil }
    (self.schema, root) = (schema, table)
    tables = mine.filter { reached(from: $0).contains(table) }.sorted()
  }

  /// Whether a record goes with another that is being deleted; a condition of SQL.
  func isCascaded(_ table: String, _ id: String) -> String {
    "EXISTS (SELECT 1 FROM holdfast_cascaded WHERE record_table = '\(table)' AND id = \(id))"
  }

  /// What the trigger of the first deletion does.
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
      + ["DELETE FROM holdfast_cascaded WHERE root = OLD.\"id\""]
  }

  /// The record that is deleted, and all that goes with it in the circle.
  private func closure() -> String {
    let steps = schema.links.filter {
      $0.isInZone && $0.onDelete == .cascade && tables.contains($0.table) && tables.contains($0.target)
    }.map { link in
      let child = schema.tables[link.table]
      return """
        SELECT '\(child.name)', child."id" FROM below CROSS JOIN "\(child.name)" AS child \
        ON child."\(child.columns[link.column].name)" = below.id WHERE below.name = '\(schema.tables[link.target].name)'
        """
    }
    return """
      INSERT INTO holdfast_cascaded (root, record_table, id) SELECT OLD."id", name, id FROM (WITH RECURSIVE below(name, id) \
      AS (SELECT '\(schema.tables[root].name)', OLD."id" UNION \(steps.joined(separator: " UNION "))) SELECT name, id FROM below)
      """
  }

  private func ids(_ table: Int) -> String {
    "(SELECT id FROM holdfast_cascaded WHERE root = OLD.\"id\" AND record_table = '\(schema.tables[table].name)')"
  }

  private func recording(_ table: TableSchema, _ ids: String) -> String {
    """
    INSERT INTO holdfast_edits (record_table, id, kind, column_name, base, rev, at) SELECT '\(table.name)', here."id", 'delete', \
    names.column1, \(DeviceTables.value(of: table, "here")), here."rev", \(DeviceTables.now) FROM "\(table.name)" AS here \
    CROSS JOIN \(DeviceTables.names(of: table)) AS names WHERE here."id" IN \(ids)
    """
  }

  /// The condition that a child, which refers to a record of the circle, does not go with it.
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

  /// What becomes of the references to records of the circle from outside it.
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
