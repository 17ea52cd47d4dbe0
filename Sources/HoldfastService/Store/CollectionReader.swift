package import HoldfastCore

/// What programs that keep no copy read of the shared database: PROTOCOL.md, section 9.
package protocol CollectionReader: AnyObject {
  /// Runs `body`, all of whose reads see one moment; where zones lie on different shards, what is read later is of no earlier moment, and what
  /// is read of one zone is of one.
  func moment<Result>(_ body: () throws -> Result) throws -> Result

  /// What a user may read.
  ///
  /// - Parameter publicZones: the zones that everybody may read.
  func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones

  /// The ids of the records in some zones that a query asks for, in its order.
  ///
  /// - Parameter limit: how many at the most.
  func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String]

  /// The ranks of some records in a list: their places from 1, by position and id. Those that are not in it have none.
  func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64>

  /// The changes of a table's records in a zone, in seq order, each record once.
  ///
  /// - Parameters:
  ///   - seq: the changes after this one.
  ///   - limit: how many at the most.
  func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange]

  /// A result that was kept for a user, or nil.
  func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head?

  /// One chunk of the ids of a kept result, from 0.
  func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String]
}

/// A change of a record, as it is now.
package struct RecordChange {
  package let id: String
  package let seq: Int64
  package let content: Content

  package init(id: String, seq: Int64, content: Content) {
    (self.id, self.seq, self.content) = (id, seq, content)
  }

  package enum Content {
    case live(StoredRecord)
    case deleted(Tombstone)
    /// It is in another zone.
    case departed
  }
}

/// The ids of a whole result, kept so that its later pages are those of its first moment.
package struct KeptResult: Sendable {
  /// How the pages look.
  package struct Head: Sendable, Equatable {
    package let table: String
    /// The names of the columns to show; nil for all.
    package let columns: [String]?
    /// Records on a page.
    package let limit: Int
    /// How many ids there are.
    package let count: Int
    /// Milliseconds since 1970 from which on it is gone.
    package let expires: Int64

    package init(table: String, columns: [String]?, limit: Int, count: Int, expires: Int64) {
      (self.table, self.columns, self.limit, self.count, self.expires) = (
        table, columns, limit, count, expires
      )
    }
  }

  /// How many ids are kept together: a page reads one or two of these.
  package static let chunk = 1000
  /// How long a result is kept, in milliseconds.
  package static let life: Int64 = 900_000
  /// How many results are kept for a user.
  package static let userLimit = 10
  /// How many expired results of whoever are removed when another is kept.
  package static let sweep = 20

  package let token: TokenHash
  package let user: String
  package let head: Head
  package let ids: [String]

  package init(token: TokenHash, user: String, head: Head, ids: [String]) {
    (self.token, self.user, self.head, self.ids) = (token, user, head, ids)
  }

  /// The ids in chunks, each as the text of a JSON array.
  package var chunks: [String] {
    stride(from: 0, to: ids.count, by: Self.chunk).map { start in
      let chunk = ids[start..<min(start + Self.chunk, ids.count)]
      return String(decoding: JSONValue.array(chunk.map { .string($0) }).bytes, as: UTF8.self)
    }
  }

  /// The ids of a chunk.
  package static func ids(_ chunk: String) -> [String] {
    (try? JSONValue(parsing: chunk))?.elements?.compactMap(\.stringValue) ?? []
  }

  /// The names of columns as they are stored, and back.
  package static func text(_ columns: [String]?) -> String? { columns?.joined(separator: ",") }

  package static func columns(_ text: String?) -> [String]? { text?.split(separator: ",").map(String.init) }
}

/// Keeps results.
package protocol ResultTable: AnyObject {
  /// Keeps a result. Those of the user beyond the newest few go, and some of those that have expired.
  func keep(_ result: KeptResult, at now: Int64) throws
}
