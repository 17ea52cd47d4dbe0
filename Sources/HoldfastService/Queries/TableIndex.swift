package import HoldfastCore

/// An index of a table that can serve filters.
package struct TableIndex: Equatable {
  package enum Kind: Equatable {
    /// The index of this reference column, across zones or inside one.
    case reference(Int)
    /// The index of this unique group.
    case unique(Int)
    /// The index with this number among the declared ones and those of lists.
    case declared(Int)
  }

  package let kind: Kind
  /// The column names in index order, after the zone.
  package let columns: [String]

  package init(kind: Kind, columns: [String]) {
    (self.kind, self.columns) = (kind, columns)
  }

  /// Whether the index begins with the filtered columns: first those with single values, then the compared one.
  package func answers(values: TextSet, compared: String?) -> Bool {
    guard columns.count >= values.count, TextSet(columns.prefix(values.count)) == values else { return false }
    guard let compared, !values.contains(compared) else { return true }
    return columns.dropFirst(values.count).first == compared
  }
}

extension SyncSchema {
  /// The indexes of a table, probably the most selective first. A reference inside a zone selects few records; one across zones selects
  /// records of all users.
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
