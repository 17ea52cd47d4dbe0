package import HoldfastCore

/// An index of a table, as filters are answered from it.
package struct TableIndex: Equatable {
  package enum Kind: Equatable {
    /// Of the reference column of this index, in all zones or in one.
    case reference(Int)
    /// The unique group of this number.
    case unique(Int)
    /// The index of this number among those that are declared or of lists.
    case declared(Int)
  }

  package let kind: Kind
  /// The names of its columns, in their order, behind the zone.
  package let columns: [String]

  package init(kind: Kind, columns: [String]) {
    (self.kind, self.columns) = (kind, columns)
  }

  /// Whether the columns of filters begin the index: those that pick values, and behind them the one that is compared.
  package func answers(values: TextSet, compared: String?) -> Bool {
    guard columns.count >= values.count, TextSet(columns.prefix(values.count)) == values else { return false }
    guard let compared, !values.contains(compared) else { return true }
    return columns.dropFirst(values.count).first == compared
  }
}

extension SyncSchema {
  /// The indexes of a table, the likely best first: an index of a reference inside a zone leads to few records; one across zones leads to
  /// those of all users.
  func tableIndexes(of index: Int) -> [TableIndex] {
    let table = tables[index]
    let links = links(of: index)
    func references(inZone: Bool) -> [TableIndex] {
      links.filter { $0.isInZone == inZone }.map {
        TableIndex(kind: .reference($0.column), columns: [table.columns[$0.column].name])
      }
    }
    return references(inZone: true)
      + table.serverIndexes.enumerated().map { TableIndex(kind: .declared($0), columns: $1) }
      + table.unique.enumerated().map { TableIndex(kind: .unique($0), columns: $1) }
      + references(inZone: false)
  }
}
