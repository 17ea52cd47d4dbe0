import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// A query as a PostgreSQL statement. Its shape depends on the request, so it is not kept prepared.
struct PostgresQueryStatement {
  let statement: PostgresStatement
  private(set) var parameters = PostgresParameters()

  /// - Parameter limit: the maximum number of ids.
  init(
    _ query: RecordQuery, _ table: TableSchema, _ relation: PostgresLayout.Relation, zones: [String],
    limit: Int
  ) {
    let (source, owner) =
      relation.hasZone
      ? ("\(relation.name) t", "t")
      : ("holdfast.records r JOIN \(relation.name) t ON t.id = r.id\(relation.idKey)", "r")
    var conditions: [String] = []
    // The rows of one zone come from its index in order; those of several are sorted.
    if zones.count == 1 {
      parameters.append(zones[0])
      conditions.append("\(owner).zone = $1")
    } else {
      parameters.append(array: zones)
      conditions.append("\(owner).zone = ANY ($1)")
    }
    if !relation.hasZone {
      conditions.append("r.record_table = \(PostgresName.literal(table.name)) AND r.state = 0")
    }
    for filter in query.filters {
      let column = Place(
        table.columns[filter.column], relation.columns[filter.column], isOwn: relation.hasZone,
        collates: filter.picksReferences ? query.index.map { !$0.isUnique } ?? true : true)
      conditions.append(Self.condition(filter.test, column, &parameters))
    }
    var order = query.order.map { step in
      let direction = step.isDescending ? "DESC NULLS LAST" : "ASC NULLS FIRST"
      guard let column = step.column else { return "\(owner).id || '' \(direction)" }
      let place = Place(table.columns[column], relation.columns[column], isOwn: relation.hasZone)
      return "\(place.order) \(direction)"
    }
    order.append("\(owner).id || ''")
    parameters.append(Int64(limit))
    statement = PostgresStatement(
      """
      SELECT \(owner).id FROM \(source) WHERE \(conditions.joined(separator: " AND ")) \
      ORDER BY \(order.joined(separator: ", ")) LIMIT $\(parameters.count)
      """)
  }

  /// A column in a comparison: as the wire's value, with texts compared by bytes.
  private struct Place {
    let type: ColumnType
    let expression: String
    /// The plain column, if it contains UUIDs that an index of the team finds.
    var uuid: String?
    /// The expression to order by. For a plain text column, the planner would choose an index of the id or a reference, and read the
    /// records of all users.
    var order: String { type.postgresElement == "text" ? "\(expression) || ''" : expression }

    /// - Parameters:
    ///   - isOwn: whether Holdfast created the table, so that it contains wire values, but for references to a team's UUIDs.
    ///   - collates: whether texts are compared with collation "C", which a unique index may not have.
    init(_ column: ColumnSchema, _ place: PostgresLayout.Column, isOwn: Bool, collates: Bool = true) {
      type = column.type
      uuid = place.cast == "::uuid" ? "t.\(place.name)" : nil
      let isPlain = isOwn && uuid == nil
      let value = isPlain ? "t.\(place.name)" : place.read
      expression =
        type.postgresElement == "text" && (collates || !isPlain) ? "(\(value)) COLLATE \"C\"" : value
    }
  }

  private static func condition(
    _ test: RecordFilter.Test, _ column: Place, _ parameters: inout PostgresParameters
  ) -> String {
    switch test {
    case .equal(let value):
      if let uuid = column.uuid {
        guard let text = value.text, Identifier.isUUID(text) else { return "false" }
        parameters.append(text)
        return "\(uuid) = $\(parameters.count)::uuid"
      }
      parameters.append(value, column.type)
      return "\(column.expression) = $\(parameters.count)"
    case .among(let values):
      if let uuid = column.uuid {
        parameters.append(array: values.compactMap(\.text).filter { Identifier.isUUID($0) })
        return "\(uuid) = ANY ($\(parameters.count)::uuid[])"
      }
      parameters.append(values: values, column.type)
      return "\(column.expression) = ANY ($\(parameters.count))"
    case .isNull: return "\(column.expression) IS NULL"
    case .isNotNull: return "\(column.expression) IS NOT NULL"
    case .above(let value, let orEqual):
      parameters.append(value, column.type)
      return "\(column.expression) >\(orEqual ? "=" : "") $\(parameters.count)"
    case .below(let value, let orEqual):
      parameters.append(value, column.type)
      return "\(column.expression) <\(orEqual ? "=" : "") $\(parameters.count)"
    }
  }
}

extension TableIndex {
  /// Whether it is the index of a unique group.
  var isUnique: Bool { if case .unique = kind { true } else { false } }
}
