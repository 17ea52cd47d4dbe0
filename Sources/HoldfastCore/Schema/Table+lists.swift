extension TableSchema {
  /// The reference column that groups records into the lists of a position column; nil if each zone is one list.
  package func list(of position: Int) -> Int? {
    if let within = columns[position].within { return index(of: within) }
    if case .parent(let column) = zone { return index(of: column) }
    return nil
  }

  /// The columns, after the zone, of the index for reading the lists of a position column.
  package func listIndex(of position: Int) -> [String] {
    (list(of: position).map { [columns[$0].name] } ?? []) + [columns[position].name, "id"]
  }

  /// The indexes within a zone that the server maintains: the declared ones, and those of lists.
  package var serverIndexes: [[String]] {
    indexes + columns.indices.filter { columns[$0].type == .position }.map(listIndex)
  }
}
