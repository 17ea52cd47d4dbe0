import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// A query of an index as a statement of PostgreSQL. It is shaped by what was asked, so it is not kept prepared.
struct PostgresQueryStatement {
  let statement: PostgresStatement
  private(set) var parameters = PostgresParameters()

  /// - Parameter limit: how many ids at the most.
  init(
    _ query: RecordQuery, _ table: TableSchema, _ relation: PostgresLayout.Relation, zones: [String],
    limit: Int
  ) {
    let (source, owner) =
      relation.hasZone
      ? ("\(relation.name) t", "t")
      : ("holdfast.records r JOIN \(relation.name) t ON t.id = r.id\(relation.idKey)", "r")
    var conditions: [String] = []
    // One zone is on one shard.
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

  /// A column as it is compared: as the wire's value, and texts by their bytes.
  private struct Place {
    let type: ColumnType
    let expression: String
    /// The column itself, where it holds UUIDs and an index of the team finds them.
    var uuid: String?
    /// What the column is ordered by: texts not as they stand, as an index of an id or a reference, which has that order already, would lead
    /// through the records of everybody.
    var order: String { type.postgresElement == "text" ? "\(expression) || ''" : expression }

    /// - Parameters:
    ///   - isOwn: whether Holdfast made the table, which then holds values of the wire.
    ///   - collates: whether texts are to be compared in the collation "C", which an index that is unique may not have.
    init(_ column: ColumnSchema, _ place: PostgresLayout.Column, isOwn: Bool, collates: Bool = true) {
      type = column.type
      let value = isOwn ? "t.\(place.name)" : place.read
      expression =
        type.postgresElement == "text" && (collates || !isOwn) ? "(\(value)) COLLATE \"C\"" : value
      uuid = place.cast == "::uuid" ? "t.\(place.name)" : nil
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
  /// Whether it is that of a unique group.
  var isUnique: Bool { if case .unique = kind { true } else { false } }
}
