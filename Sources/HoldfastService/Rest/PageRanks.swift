package import HoldfastCore

/// The ranks that a page shows, as they are now. Each list is read once, for all records of the page.
package struct PageRanks {
  /// The greatest number of lists of a page.
  static let listLimit = 64

  /// The index of the position column.
  package let position: Int
  package let ids: [String]
  package let schema: SyncSchema
  private var known: [RecordList: TextMap<Int64>] = [:]

  package init(_ position: Int, of ids: [String], in schema: SyncSchema) {
    self.position = position
    self.ids = ids
    self.schema = schema
  }

  /// The rank of a record, null for one that is in no list; nil when the page has too many lists for it.
  package mutating func rank(of record: StoredRecord, _ store: any StoreReader) throws -> Value? {
    let list = RecordList(position, of: record.table, zone: record.zone, values: record.values, in: schema)
    if known[list] == nil {
      if known.count == Self.listLimit { return nil }
      known[list] = try store.ranks(of: ids, in: list)
    }
    return known[list]?[record.id].map { .integer($0) } ?? .null
  }
}

extension TableSchema {
  /// The index of the position column that a parameter `rank` names.
  package func rankColumn(_ name: String) throws(Problem) -> Int {
    guard let index = index(of: name), columns[index].type == .position else {
      throw Problem(.invalidRequest, "rank names a column of type position.")
    }
    return index
  }
}
