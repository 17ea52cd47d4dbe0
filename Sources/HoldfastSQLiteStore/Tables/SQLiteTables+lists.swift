import HoldfastCore
import HoldfastService

/// SQL that reads ordered lists.
extension SQLiteTables {
  /// Selects the records with the positions nearest to `?2` in a list of the zone `?1`, at most `?3`.
  package static func positions(_ side: RecordList.Side, in list: RecordList, of table: TableSchema) -> String
  {
    let position = "\"\(table.columns[list.position].name)\""
    let (sign, order) = side == .before ? ("<", " DESC") : (">", "")
    return """
      SELECT "id", \(position) FROM \(records(of: list, table)) AND \(position) \(sign) ?2 \
      ORDER BY \(position)\(order) LIMIT ?3
      """
  }

  /// Selects the ranks of the records `?2`, a JSON array, in a list of the zone `?1`. Reads the list only up to the last of them.
  package static func ranks(in list: RecordList, of table: TableSchema) -> String {
    let position = "\"\(table.columns[list.position].name)\""
    let wanted = "(SELECT value FROM json_each(?2))"
    return """
      SELECT id, rank FROM (
        SELECT "id", row_number() OVER (ORDER BY \(position), "id") AS rank FROM \(records(of: list, table))
        AND \(position) <= (SELECT max(\(position)) FROM "\(table.name)" WHERE "id" IN \(wanted))
      ) WHERE id IN \(wanted)
      """
  }

  /// The table by the index of the list, with the conditions of the list: `?1` is its zone, `?4` the shared reference.
  private static func records(of list: RecordList, _ table: TableSchema) -> String {
    let index = indexName(table.listIndex(of: list.position), of: table.name)
    let parent = list.parent.map { " AND \"\(table.columns[$0.column].name)\" IS ?4" } ?? ""
    return "\"\(table.name)\" INDEXED BY \(index) WHERE \"zone\" = ?1\(parent)"
  }
}
