import HoldfastCore

/// Computes positions in lists when an item is applied. The zone is locked by then, so no other transaction creates the same position.
extension RestRun {
  /// Fills in the positions that an operation needs, by column.
  ///
  /// - Throws: `Problem.invalidValue` naming the column, if a neighbour is not in the list.
  package func place(_ operation: RecordOperation, _ places: [Int: RestItem.Place], _ visible: VisibleRecord)
    throws
    -> RecordOperation
  {
    var settings = operation.settings
    if operation.kind == .update, case .deleted = visible {
      // A deleted record has no place in a list. The other values of the update still go to the conflict log.
      return operation.made(.update, settings: settings.filter { places[$0.column] == nil })
    }
    var values = [Value](repeating: .null, count: stores.schema.tables[operation.table].columns.count)
    if case .live(let record) = visible { values = record.values }
    for setting in settings { values[setting.column] = setting.value }
    let zone = try zone(of: operation, values, visible)
    for (index, setting) in settings.enumerated() {
      guard let place = places[setting.column] else { continue }
      let list = zone.map {
        RecordList(setting.column, of: operation.table, zone: $0, values: values, in: stores.schema)
      }
      let position = try position(place, in: list, for: operation, setting.column)
      settings[index] = RecordOperation.Setting(column: setting.column, value: .text(position.string))
    }
    return operation.made(operation.kind, settings: settings)
  }

  /// The zone that the record will be in; nil for an unknown zone, or one that the client may not read.
  private func zone(of operation: RecordOperation, _ values: [Value], _ visible: VisibleRecord) throws
    -> String?
  {
    let table = stores.schema.tables[operation.table]
    let zone: String?
    switch (table.zone, visible) {
    case (.parent(let name), _):
      let link = stores.schema.links(of: operation.table).first { table.columns[$0.column].name == name }
      zone = try link.flatMap { link in
        try values[link.column].text.flatMap { try stores.tables[link.target].zone(of: $0) }
      }
    case (_, .live(let record)): zone = record.zone
    case (.root, _): zone = operation.id
    case (.user, .deleted(let tombstone)): zone = tombstone.zone
    case (.user, _): zone = author.user
    case (.public(let name), _): zone = name
    case (.explicit, _), (.server, _): zone = operation.zone
    }
    guard let zone, try stores.ledger.exists(zone), try stores.ledger.role(of: author.user, in: zone) != nil
    else { return nil }
    return zone
  }

  private func position(
    _ place: RestItem.Place, in list: RecordList?, for operation: RecordOperation, _ column: Int
  ) throws -> Position {
    func next(_ side: RecordList.Side, _ mark: String) throws -> Position? {
      guard let list else { return nil }
      let found = try stores.tables[list.table].position(side, mark, in: list, besides: operation.id)
      // SQL may have stored an invalid position. It does not count as a neighbour.
      return found.flatMap { try? Position(validating: $0) }
    }
    func neighbour(_ id: String) throws -> Position {
      let name = stores.schema.tables[operation.table].columns[column].name
      guard let list, id != operation.id, let record = try stores.tables[list.table].record(id),
        RecordList(column, of: list.table, zone: record.zone, values: record.values, in: stores.schema)
          == list
      else { throw Problem(.invalidValue, "\(name): the list has no other record \(id).") }
      guard let position = record.values[column].text.flatMap({ try? Position(validating: $0) }) else {
        throw Problem(.invalidValue, "\(name): the record \(id) has no place in the list.")
      }
      return position
    }
    let (left, right): (Position?, Position?)
    switch place {
    case .first: (left, right) = (nil, try next(.after, RecordList.start))
    case .last: (left, right) = (try next(.before, RecordList.end), nil)
    case .after(let id):
      let position = try neighbour(id)
      (left, right) = (position, try next(.after, position.string))
    case .before(let id):
      let position = try neighbour(id)
      (left, right) = (try next(.before, position.string), position)
    }
    let nonce = work.environment.random(8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    return Position.between(left, right, replica: work.replica, nonce: nonce)
  }
}
