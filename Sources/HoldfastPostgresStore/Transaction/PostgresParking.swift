import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Parks records that free a unique value which another record takes in the same write. PostgreSQL checks each row immediately, unless the
/// constraint is deferrable. Parked records therefore first get a temporary unused value, and then their new one.
struct PostgresParking {
  /// How the records of a table are parked.
  enum Place: Hashable {
    /// In a temporary zone of their own.
    case zone
    /// With null in this column.
    case null(Int)
    /// With an unused value in this column.
    case other(Int)
  }

  /// A record to park.
  struct Parked {
    let id: String
    let zone: String
    let place: Place
  }

  /// By table.
  private(set) var parked: [Int: [Parked]] = [:]
  private var columns: [Footprint.Key: Set<Int>] = [:]

  private let schema: SyncSchema
  private let layout: PostgresLayout

  /// Finds the records to park.
  init(_ changes: [ChangedRecord], _ schema: SyncSchema, _ layout: PostgresLayout) {
    (self.schema, self.layout) = (schema, layout)
    for (index, table) in schema.tables.enumerated() where !table.unique.isEmpty {
      let changes = changes.filter { $0.key.table == index }
      for group in table.unique {
        let columns = group.compactMap { table.index(of: $0) }
        let relation = layout.relations[index]
        var takers: [IndexValue: String] = [:]
        for change in changes {
          if let values = Self.values(of: change.now, columns, relation) { takers[values] = change.key.id }
        }
        for change in changes {
          guard let before = change.before, let home = before.home,
            let values = Self.values(of: before, columns, relation), let taker = takers[values],
            taker != change.key.id, let place = Self.place(columns, table, relation)
          else { continue }
          parked[index, default: []].append(Parked(id: change.key.id, zone: home, place: place))
          switch place {
          case .zone: continue
          case .null(let column), .other(let column): self.columns[change.key, default: []].insert(column)
          }
        }
      }
    }
  }

  /// The columns of a parked record that must be written again.
  func columns(of key: Footprint.Key) -> Set<Int> { columns[key] ?? [] }

  /// Sends the statements that park the records.
  func send(_ pipe: PostgresPipeline) {
    for (table, records) in parked.sorted(by: { $0.key < $1.key }) {
      for record in records {
        pipe.send(
          Self.statement(record.place, schema.tables[table], layout, table), PostgresParameters(record.id))
      }
    }
  }

  private static func statement(
    _ place: Place, _ table: TableSchema, _ layout: PostgresLayout, _ index: Int
  ) -> PostgresStatement {
    let relation = layout.relations[index]
    let setting =
      switch place {
      case .zone: "\"zone\" = 'holdfast parked ' || t.id"
      case .null(let column): "\(relation.columns[column].name) = NULL"
      case .other(let column):
        "\(relation.columns[column].name) = \(otherValue(of: column, table, relation) ?? "NULL")"
      }
    return PostgresStatement(
      "UPDATE \(relation.name) t SET \(setting) WHERE t.id = $1\(relation.idCast)")
  }

  /// The unique values of a record; nil if it is not live, or if one of them is null.
  private static func values(
    of entry: RecordEntry, _ columns: [Int], _ relation: PostgresLayout.Relation
  ) -> IndexValue? {
    guard let zone = entry.home, let all = entry.values else { return nil }
    let values = columns.map { all[$0] }
    // A team's constraint spans the whole table.
    return values.contains(.null) ? nil : IndexValue(zone: relation.hasZone ? zone : "", values: values)
  }

  private static func place(_ columns: [Int], _ table: TableSchema, _ relation: PostgresLayout.Relation)
    -> Place?
  {
    if relation.hasZone { return .zone }
    // References come last, because their foreign key may be checked immediately.
    let columns =
      columns.filter { table.columns[$0].type != .reference }
      + columns.filter { table.columns[$0].type == .reference }
    if let free = columns.first(where: { !table.columns[$0].required && relation.columns[$0].filling == nil })
    {
      return .null(free)
    }
    return columns.first { otherValue(of: $0, table, relation) != nil }.map { .other($0) }
  }

  /// An expression for an unused value; nil for a type with too few values.
  private static func otherValue(
    of index: Int, _ table: TableSchema, _ relation: PostgresLayout.Relation
  ) -> String? {
    let (column, limit) = (relation.columns[index], table.columns[index].lengthLimit)
    let digits = "md5(t.id::text)"
    switch (column.type, column.cast) {
    case (.text, ""), (.text, "::citext"):
      if limit < 6 { return nil }
      return limit < 80 ? "left(\(digits), \(limit))" : "'holdfast parked ' || \(digits)"
    case (.reference, ""): return "'holdfast parked ' || \(digits)"
    case (.text, "::uuid"), (.reference, "::uuid"): return "\(digits)::uuid"
    case (.integer, ""): return "-('x' || left(\(digits), 15))::bit(60)::bigint"
    case (.integer, "::integer"): return "-('x' || left(\(digits), 7))::bit(28)::integer"
    default: return nil
    }
  }
}
