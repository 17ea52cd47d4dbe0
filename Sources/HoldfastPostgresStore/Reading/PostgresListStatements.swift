import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements that read ordered lists. Each reads one zone, `$1`.
struct PostgresListStatements {
  let list: RecordList
  let relation: PostgresLayout.Relation

  /// Selects the records nearest to the position `$2`, at most `$3`.
  func near(_ side: RecordList.Side) -> PostgresStatement {
    let (sign, order) = side == .before ? ("<", " DESC") : (">", "")
    return PostgresStatement(
      """
      SELECT \(id("t")), \(position("t")) FROM \(records("t")) AND \(position("t")) \(sign) $2\(parent("t", 4)) \
      ORDER BY \(position("t"))\(order), \(id("t"))\(order) LIMIT $3
      """)
  }

  /// Selects the ranks of the records `$2` in the list. Reads the list only up to the last of them.
  var ranks: PostgresStatement {
    PostgresStatement(
      """
      SELECT r.id, r.rank FROM (
        SELECT \(id("t")) AS id, row_number() OVER (ORDER BY \(position("t")), \(id("t"))) AS rank
        FROM \(records("t"))\(parent("t", 3))
        AND \(position("t")) <= (SELECT max(\(position("m"))) FROM \(records("m")) AND \(id("m")) = ANY ($2))
      ) r WHERE r.id = ANY ($2)
      """)
  }

  /// The parameters of a statement, with the list's shared reference appended.
  ///
  /// - Returns: nil if no record can have that reference.
  func parameters(_ first: PostgresParameters) -> PostgresParameters? {
    guard let parent = list.parent?.value.text, let column = list.parent?.column else { return first }
    if relation.columns[column].cast == "::uuid", !Identifier.isUUID(parent) { return nil }
    var parameters = first
    parameters.append(parent)
    return parameters
  }

  private func position(_ row: String) -> String {
    let column = relation.columns[list.position]
    return relation.hasZone ? "\(row).\(column.name)" : column.bytes("\(row).")
  }

  private func id(_ row: String) -> String { relation.hasZone ? "\(row).id" : "l\(row).id" }

  /// The live records of the zone. An adopted table has no zone column, so the ledger supplies the zone.
  private func records(_ row: String) -> String {
    if relation.hasZone { return "\(relation.name) \(row) WHERE \(row).zone = $1" }
    let table = PostgresName.literal(relation.table)
    return """
      \(relation.name) \(row) JOIN holdfast.records l\(row) ON l\(row).record_table = \(table) AND l\(row).id = \(relation.id(row)) \
      WHERE l\(row).zone = $1 AND l\(row).state = 0
      """
  }

  private func parent(_ row: String, _ place: Int) -> String {
    guard let parent = list.parent else { return "" }
    let column = relation.columns[parent.column]
    return parent.value == .null
      ? " AND \(row).\(column.name) IS NULL" : " AND \(row).\(column.name) = $\(place)\(column.cast)"
  }
}
