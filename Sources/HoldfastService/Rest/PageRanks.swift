package import HoldfastCore

/// The current ranks of a page's records. Each list is read once for the whole page.
package struct PageRanks {
  /// The maximum number of lists per page.
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

  /// The rank of a record; null if it is in no list; nil if the page exceeds the limit of lists.
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
  /// The index of the position column that the parameter `rank` names, by its name or a former one.
  package func rankColumn(_ name: String) throws(Problem) -> Int {
    guard let index = index(called: name), columns[index].type == .position else {
      throw Problem(.invalidRequest, "rank names a column of type position.")
    }
    return index
  }
}
