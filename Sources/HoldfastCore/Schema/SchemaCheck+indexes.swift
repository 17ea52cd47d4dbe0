extension SchemaCheck {
  /// The limits for indexes of a table and columns of an index. Every write maintains all indexes.
  static let indexLimit = 16
  static let indexColumnLimit = 8

  /// The faults of the declared indexes of a table.
  func indexFaults(_ table: TableSchema, at place: String) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if table.indexes.count > Self.indexLimit {
      faults.append(
        .init(place, "Declare at most \(Self.indexLimit) indexes; there are \(table.indexes.count)."))
    }
    var seen: Set<[TextKey]> = []
    for (number, columns) in table.indexes.enumerated() {
      let place = "\(place).\(number)"
      if !(1...Self.indexColumnLimit).contains(columns.count) {
        faults.append(.init(place, "Name 1 to \(Self.indexColumnLimit) columns."))
      }
      if TextSet(columns).count < columns.count {
        faults.append(.init(place, "A column is named twice; name it once."))
      }
      if !seen.insert(columns.map { TextKey($0) }).inserted {
        faults.append(.init(place, "The index is declared twice; keep one."))
      }
      for name in columns {
        guard let column = table.columns.first(where: { $0.name == name }) else {
          faults.append(.init(place, "The table has no column \"\(name)\"; name one of its own."))
          continue
        }
        if column.type == .json {
          faults.append(.init(place, "Values of type json have no order; leave \"\(name)\" out."))
        }
      }
    }
    return faults
  }
}
