package import HoldfastCore

/// Reads for clients without a local copy: PROTOCOL.md, section 9.
package protocol CollectionReader: AnyObject {
  /// Runs `body` in one snapshot.
  func moment<Result>(_ body: () throws -> Result) throws -> Result

  /// The zones that a user may read.
  ///
  /// - Parameter publicZones: the zones that are visible to every user.
  func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones

  /// The ids of the records that match a query in some zones, in the query's order.
  ///
  /// - Parameter limit: the maximum number of ids.
  func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String]

  /// The ranks of some records in a list, from 1, ordered by position and id. Records that are not in the list are omitted.
  func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64>

  /// The changes of a table's records in a zone, in seq order, each record once.
  ///
  /// - Parameters:
  ///   - seq: returns only changes after this seq.
  ///   - limit: the maximum number of changes.
  func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange]

  /// The head of a stored result of a user, or nil.
  func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head?

  /// One chunk of the ids of a stored result. Chunks count from 0.
  func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String]
}

/// A changed record in its current state.
package struct RecordChange {
  package let id: String
  package let seq: Int64
  package let content: Content

  package init(id: String, seq: Int64, content: Content) {
    (self.id, self.seq, self.content) = (id, seq, content)
  }

  /// The record, if it lives.
  package var live: StoredRecord? { if case .live(let record) = content { record } else { nil } }

  package enum Content {
    case live(StoredRecord)
    case deleted(Tombstone)
    /// The record moved to another zone.
    case departed
    /// The ledger says that the record lives, and its table does not have it. Readers skip it.
    case missing
  }
}

/// The ids of a complete query result. They are stored so that later pages show the same records as the first page.
package struct KeptResult: Sendable {
  /// The properties of the pages.
  package struct Head: Sendable, Equatable {
    package let table: String
    /// The names of the columns to show; nil for all.
    package let columns: [String]?
    /// Records on a page.
    package let limit: Int
    /// The number of ids.
    package let count: Int
    /// Expiry time in milliseconds since 1970.
    package let expires: Int64

    package init(table: String, columns: [String]?, limit: Int, count: Int, expires: Int64) {
      (self.table, self.columns, self.limit, self.count, self.expires) = (
        table, columns, limit, count, expires
      )
    }
  }

  /// The number of ids per stored chunk. A page reads one or two chunks.
  package static let chunk = 1000
  /// The lifetime of a result in milliseconds.
  package static let life: Int64 = 900_000
  /// The maximum number of stored results per user.
  package static let userLimit = 10
  /// The maximum number of expired results, of any user, that storing a result removes.
  package static let sweep = 20

  package let token: TokenHash
  package let user: String
  package let head: Head
  package let ids: [String]

  package init(token: TokenHash, user: String, head: Head, ids: [String]) {
    (self.token, self.user, self.head, self.ids) = (token, user, head, ids)
  }

  /// The ids in chunks, each encoded as a JSON array.
  package var chunks: [String] {
    stride(from: 0, to: ids.count, by: Self.chunk).map { start in
      let chunk = ids[start..<min(start + Self.chunk, ids.count)]
      return String(decoding: JSONValue.array(chunk.map { .string($0) }).bytes, as: UTF8.self)
    }
  }

  /// Parses the ids of a chunk.
  package static func ids(_ chunk: String) -> [String] {
    (try? JSONValue(parsing: chunk))?.elements?.compactMap(\.stringValue) ?? []
  }

  /// Encodes column names for storage.
  package static func text(_ columns: [String]?) -> String? { columns?.joined(separator: ",") }

  package static func columns(_ text: String?) -> [String]? { text?.split(separator: ",").map(String.init) }
}

/// Stores query results.
package protocol ResultTable: AnyObject {
  /// Stores a result. Removes the user's oldest results beyond the limit, and some expired results of any user.
  func keep(_ result: KeptResult, at now: Int64) throws
}
