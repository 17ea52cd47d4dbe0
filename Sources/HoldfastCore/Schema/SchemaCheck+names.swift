extension SchemaCheck {
  /// The maximum number of former names, because each lookup searches them all.
  static let formerNameLimit = 16

  /// The faults of the former names of a table or column.
  ///
  /// - Parameter isOthers: whether a name is taken: by this or another table or column, now or formerly, or reserved.
  func formerNameFaults(
    _ was: [String], isOthers: (String) -> Bool, at place: String, kind: String
  ) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if was.count > Self.formerNameLimit {
      faults.append(
        .init(place, "Name at most \(Self.formerNameLimit); leave out those of apps that are gone."))
    }
    if TextSet(was).count < was.count { faults.append(.init(place, "A name stands here twice; keep one.")) }
    for name in was {
      faults += nameFaults(name, at: place, kind: kind)
      if isOthers(name) {
        faults.append(
          .init(
            place,
            "\"\(name)\" is the name of a \(kind), or was that of another: an old app could mean either. Choose another name for that one."
          ))
      }
    }
    return faults
  }

  /// The faults of the former names of the tables.
  func formerTableFaults() -> [SchemaError.Fault] {
    tables.flatMap { table in
      formerNameFaults(
        table.was,
        isOthers: { name in
          Self.isReserved(table: name)
            || tables.contains { $0.name == name || ($0.name != table.name && $0.was.contains(name)) }
        }, at: "tables.\(table.name).was", kind: "table")
    }
  }

  /// The faults of the former names of a table's columns.
  func formerColumnFaults(_ table: TableSchema, at place: String) -> [SchemaError.Fault] {
    table.columns.flatMap { column in
      formerNameFaults(
        column.was,
        isOthers: { name in
          Self.isReserved(column: name)
            || table.columns.contains { $0.name == name || ($0.name != column.name && $0.was.contains(name)) }
        }, at: "\(place).columns.\(column.name).was", kind: "column")
    }
  }
}
