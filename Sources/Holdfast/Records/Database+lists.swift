import HoldfastCore

// Lists: the records of a table that refer to the same record by the column that the schema says (`within`, or the one that decides the zone), or
// all those of a zone. Neighbours are the true ones in the database, whatever a view shows. Of several records that have the same position, a place
// beside one is beside all of them. docs/POSITIONS.md says what is promised.
extension Database {
  /// Inserts new records of one list in a row at a place of it; which list, their own references say. Their positions are made here.
  ///
  /// - Parameters:
  ///   - records: in the order in which they are to stand.
  ///   - place: where in the list.
  ///   - column: the position column; nil for the table's only one, or its first.
  /// - Throws: `StoreError`, as `move` does; `SQLiteError` when a constraint forbids it. Then roll back.
  public func insert<R: Record>(_ records: [R], at place: Place, by column: String? = nil) throws {
    let order = try ListOrder(R.table, by: column, in: schema)
    for record in records {
      var columns = try RowEncoder.encode(record, in: schema).filter { $0.name != order.position }
      columns.append((order.position, .text("")))
      try local.rows.insert(columns, into: R.table)
    }
    try put(records.map(\.id), at: place, in: nil, order)
  }

  /// Moves records to a place, as one block: in the order in which they are named, next to each other.
  ///
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - ids: the records.
  ///   - place: where in the list.
  ///   - parent: the record whose list they go to, so that they refer to it from now on; nil for the list that all of them are in.
  ///   - column: the position column; nil for the table's only one, or its first.
  /// - Throws: `StoreError`: `recordMissing` when a record is not on the device; `notInList` when the place is beside a record that is moved
  ///   itself, or is not in the list, and when the records are of several lists and none is named. Nothing is changed then.
  public func move<R: Record>(
    _ type: R.Type, ids: [String], to place: Place, in parent: String? = nil, by column: String? = nil
  ) throws {
    try put(ids, at: place, in: parent, ListOrder(R.table, by: column, in: schema))
  }

  /// Gives the records of a list new, short positions in the order that they have; each is an edit of the record. What devices insert meanwhile
  /// that have not heard of it gets one place on all devices, but not always the one that was meant.
  ///
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - parent: what the records of the list refer to, nil for those that refer to nothing; where lists are whole zones, the zone, nil
  ///     for the records that have none yet.
  ///   - column: the position column; nil for the table's only one, or its first.
  public func renew<R: Record>(_ type: R.Type, in parent: String?, by column: String? = nil) throws {
    let order = try ListOrder(R.table, by: column, in: schema)
    let rows = try local.connection.rows(order.all, [parent.map { .text($0) } ?? .null])
    let positions = try run(of: rows.count, between: nil, and: nil)
    for (row, position) in zip(rows, positions) {
      try local.connection.run(order.place, [.text(position.string), row[0]])
    }
  }

  /// Moves a record to the end of the list that it is in.
  func moveToEnd(_ id: String, of table: String, by column: String) throws {
    try put([id], at: .last, in: nil, ListOrder(table, by: column, in: schema))
  }

  private func put(_ ids: [String], at place: Place, in parent: String?, _ order: ListOrder) throws {
    if ids.isEmpty { return }
    guard TextSet(ids).count == ids.count else {
      throw StoreError(.notInList, "A record of \(order.table) is named twice.")
    }
    let lists = try ids.map { try list(of: $0, order) }
    if let parent { try order.requireParent(parent, on: self) }
    let target: SQLiteValue = parent.map { .text($0) } ?? lists[0]
    guard parent != nil || lists.allSatisfy({ $0 == target }) else {
      throw StoreError(
        .notInList, "The records of \(order.table) are in several lists: say to which they go.")
    }
    let (left, right) = try neighbours(of: place, besides: ids, in: target, order)
    for (id, position) in zip(ids, try run(of: ids.count, between: left, and: right)) {
      try local.connection.run(order.place, [.text(position.string), .text(id)])
    }
    for (id, before) in zip(ids, lists) where before != target {
      try local.connection.run(order.change, [target, .text(id)])
    }
  }

  private func list(of id: String, _ order: ListOrder) throws -> SQLiteValue {
    guard let row = try local.connection.row(order.find, [.text(id)]) else {
      throw StoreError(.recordMissing, "There is no record \(id) in \(order.table) on this device.")
    }
    return row[0]
  }

  /// The positions between which a place is.
  private func neighbours(
    of place: Place, besides ids: [String], in list: SQLiteValue, _ order: ListOrder
  ) throws -> (left: Position?, right: Position?) {
    let block = SQLiteValue.text(
      String(decoding: JSONValue.array(ids.map { .string($0) }).bytes, as: UTF8.self))
    func next(_ sql: String, _ mark: Position? = nil) throws -> Position? {
      let found = try local.connection.value(
        sql, [list, block, mark.map { .text($0.string) } ?? .null])?.text
      // What somebody else wrote there may be no position; then it is no neighbour.
      return found.flatMap { try? Position(validating: $0) }
    }
    func neighbour(_ id: String) throws -> Position {
      guard !ids.contains(id), try self.list(of: id, order) == list else {
        throw StoreError(.notInList, "The record \(id) is not another record of this list.")
      }
      let text = try local.connection.row(order.find, [.text(id)])?[1].text ?? ""
      guard let position = try? Position(validating: text) else {
        throw StoreError(.notInList, "The record \(id) has no place in the list.")
      }
      return position
    }
    switch place {
    case .first: return (nil, try next(order.after))
    case .last: return (try next(order.before), nil)
    case .before(let id):
      let position = try neighbour(id)
      return (try next(order.before, position), position)
    case .after(let id):
      let position = try neighbour(id)
      return (position, try next(order.after, position))
    }
  }
}

/// The statements that work on the lists of one position column.
private struct ListOrder {
  let table: String
  let position: String
  /// The reference column whose records form a list; nil where a zone does.
  private let parent: ColumnSchema?
  /// What records of one list have in common.
  private var group: String { parent?.name ?? "zone" }

  init(_ name: String, by column: String?, in schema: SyncSchema) throws(StoreError) {
    guard let table = schema.table(name),
      let index = table.columns.firstIndex(where: {
        $0.type == .position && (column == nil || $0.name == column)
      })
    else { throw StoreError(.valueUnfit, "\(name) has no position column \(column ?? "").") }
    self.table = name
    position = table.columns[index].name
    parent = table.list(of: index).map { table.columns[$0] }
  }

  /// Checks that there is a record whose list can be gone to.
  func requireParent(_ id: String, on database: Database) throws {
    guard let reference = parent?.reference else {
      throw StoreError(.notInList, "A list of \(table) is a whole zone: no record is its parent.")
    }
    // What is in another zone may not be on the device.
    let link = database.schema.links.first { link in
      database.schema.tables[link.table].name == table
        && database.schema.tables[link.table].columns[link.column] == parent
    }
    guard link?.isInZone == true else { return }
    if try database.local.connection.row("SELECT 1 FROM \"\(reference.table)\" WHERE \"id\" = ?", [.text(id)])
      == nil
    {
      throw StoreError(.recordMissing, "There is no record \(id) in \(reference.table) on this device.")
    }
  }

  var find: String { "SELECT \"\(group)\", \"\(position)\" FROM \"\(table)\" WHERE \"id\" = ?" }
  var place: String { "UPDATE \"\(table)\" SET \"\(position)\" = ? WHERE \"id\" = ?" }
  var change: String { "UPDATE \"\(table)\" SET \"\(group)\" = ? WHERE \"id\" = ?" }
  var all: String {
    """
    SELECT "id" FROM "\(table)" WHERE "\(group)" IS ? AND "\(position)" IS NOT NULL ORDER BY "\(position)", "id"
    """
  }

  /// The greatest position in the list `?1` that is less than `?3`, if that is not null, of records that are not among `?2`.
  var before: String { nearest("<", "max") }
  /// The same on the other side.
  var after: String { nearest(">", "min") }

  private func nearest(_ sign: String, _ pick: String) -> String {
    """
    SELECT \(pick)("\(position)") FROM "\(table)" WHERE "\(group)" IS ?1 AND (?3 IS NULL OR "\(position)" \(sign) ?3)
    AND "id" NOT IN (SELECT value FROM json_each(?2))
    """
  }
}
