/// What devices handed back to a restored database; docs/RESTORING.md, section 4.
protocol ReturnTable: AnyObject {
  /// The seq that a zone had when the database was restored; nil when there is no such zone.
  func restored(_ zone: String) throws -> Int64?

  /// What was handed back of a record, in the transactions before; nil when nothing was.
  func handed(_ record: HandedRecord.Key) throws -> HandedRecord?

  /// Remembers what was handed back.
  func put(_ records: [HandedRecord]) throws

  /// Remembers how far devices say that they had zones; the greatest counts.
  func claim(_ seqs: [String: Int64]) throws
}

/// What was handed back of one record.
struct HandedRecord: Sendable {
  struct Key: Hashable, Sendable {
    let zone: String
    let table: String
    let id: String
  }

  let key: Key
  /// The rev of the history that is lost.
  let rev: Int64
  /// The seq that the record, or its tombstone, got by it.
  let seq: Int64
  let isDeletion: Bool
}

/// What is handed back in one transaction, written right before the commit.
struct ReturnLedger {
  private var handed: [HandedRecord.Key: HandedRecord] = [:]
  private var claims: [String: Int64] = [:]

  mutating func add(_ records: [HandedRecord]) { for record in records { handed[record.key] = record } }

  mutating func claim(_ zone: String, _ seq: Int64) { claims[zone] = max(claims[zone] ?? 0, seq) }

  func handed(_ key: HandedRecord.Key) -> HandedRecord? { handed[key] }

  func flush(to table: any ReturnTable) throws {
    if !handed.isEmpty { try table.put(Array(handed.values)) }
    if !claims.isEmpty { try table.claim(claims) }
  }
}
