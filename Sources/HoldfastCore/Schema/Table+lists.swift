extension TableSchema {
  /// The reference column whose records form one list in the order of a position column; nil where each zone is one list.
  public func list(of position: Int) -> Int? {
    if let within = columns[position].within { return index(of: within) }
    if case .parent(let column) = zone { return index(of: column) }
    return nil
  }

  /// The columns of the index by which the lists of a position column are read, behind the zone.
  package func listIndex(of position: Int) -> [String] {
    (list(of: position).map { [columns[$0].name] } ?? []) + [columns[position].name, "id"]
  }

  /// The indexes of some columns that the server keeps in each zone: those declared, and those of lists.
  package var serverIndexes: [[String]] {
    indexes + columns.indices.filter { columns[$0].type == .position }.map(listIndex)
  }
}
