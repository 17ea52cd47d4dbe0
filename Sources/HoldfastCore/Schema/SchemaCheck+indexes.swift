extension SchemaCheck {
  /// How many indexes a table may declare, and of how many columns each: all of them are kept by every write.
  static let indexLimit = 16
  static let indexColumnLimit = 8

  /// What is wrong with the indexes that a table declares.
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
