import HoldfastCore
import HoldfastService

// References inside a zone name records of the zone (I9). The service refuses a set that would tear one; so do the triggers a statement.
extension PostgresTriggers {
  /// The function that fails when one of the records refers inside its zone to a record of another one, or is so referred to; nil where no
  /// reference can be torn. The columns that decide the zone can't be: records follow them.
  package func checked(_ index: Int) -> String? {
    let (own, others) = (inner(schema.links(of: index)), inner(schema.links(to: index)))
    if own.isEmpty, others.isEmpty { return nil }
    return function(
      "\(function(index, "check"))(ids text[])", returns: "void", settings: keyed,
      declare: isUsers(index) ? ["home text := holdfast.account_home()"] : [],
      own.map { check($0, of: "child") }.joined()
        + others.filter { !own.contains($0) }.map { check($0, of: "parent") }.joined()
        + own.filter { $0.target == index }.map { check($0, of: "parent") }.joined())
  }

  /// Calls it for records that were written.
  ///
  /// - Parameter ids: a variable or an expression.
  package func check(_ index: Int, _ ids: String, indent: String = "  ") -> String {
    if inner(schema.links(of: index)).isEmpty, inner(schema.links(to: index)).isEmpty { return "" }
    return "\(indent)PERFORM \(function(index, "check"))(\(ids));\n"
  }

  /// The same for records of which columns changed, where one of them is such a reference.
  func checkChanges(_ index: Int) -> String {
    let links = inner(schema.links(of: index))
    if links.isEmpty { return "" }
    let names = links.map { schema.tables[index].columns[$0.column].name }.joined(separator: "|")
    return """
            PERFORM \(function(index, "check"))(array_agg(u.id)) FROM unnest(ids, names) u (id, columns)
              WHERE u.columns ~ '(^|\\|)(\(names))($|\\|)' HAVING count(*) > 0;

      """
  }

  /// References inside a zone that do not decide it.
  private func inner(_ links: [SyncSchema.Link]) -> [SyncSchema.Link] {
    links.filter { link in
      guard link.isInZone, let (parent, _) = parent(of: link.table) else { return link.isInZone }
      return parent.column != link.column
    }
  }

  private func check(_ link: SyncSchema.Link, of side: String) -> String {
    let (child, parent) = (zoneSource(link.table), zoneSource(link.target))
    let (table, target) = (relations[link.table], relations[link.target])
    let column = table.columns[link.column]
    let given =
      side == "child"
      ? """
      unnest(ids) s (id) CROSS JOIN LATERAL (SELECT a.* FROM \(table.relation) a
              WHERE a.\(table.id.quoted) = \(table.id.key("s.id")) AND a.\(column.quoted) IS NOT NULL OFFSET 0) t
      """
      : """
      (SELECT a.* FROM \(table.relation) a WHERE a.\(column.quoted) = ANY (\(column.keys("ids"))) OFFSET 0) t
      """
    return """
        IF EXISTS (
          SELECT FROM (
            SELECT t.\(column.quoted) AS target, \(child.zone) AS zone FROM \(given)\(child.joins)
          ) c JOIN LATERAL (
            SELECT \(parent.zone) AS zone FROM (
              SELECT a.* FROM \(target.relation) a WHERE a.\(target.id.quoted) = c.target OFFSET 0) t\(parent.joins)
          ) p ON true WHERE p.zone <> c.zone
        ) THEN
          RAISE EXCEPTION '\(schema.tables[link.table].name).\(column.name) would refer to a record of another zone'
            USING ERRCODE = 'foreign_key_violation',
            HINT = 'Change what refers and what is referred to in one statement; or say "across" in the schema.';
        END IF;

      """
  }
}
