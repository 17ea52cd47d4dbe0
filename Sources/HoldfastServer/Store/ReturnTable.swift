/// What devices handed back to a restored database; docs/RESTORING.md, section 4.
protocol ReturnTable: AnyObject {
  /// The seq that a zone had when the database was restored; nil when there is no such zone.
  func restored(_ zone: String) throws -> Int64?

  /// What is known of a record of the lost history, by the transactions before; nil when nothing is.
  func handed(_ record: HandedRecord.Key) throws -> HandedRecord?

  /// Remembers what was handed back.
  func put(_ records: [HandedRecord]) throws

  /// Remembers how far devices say that they had zones; the greatest counts.
  func claim(_ seqs: [String: Int64]) throws
}

/// What the backup has of one record in a zone, and what was handed back of it.
struct HandedRecord: Sendable {
  struct Key: Hashable, Sendable {
    let zone: String
    let table: String
    let id: String
  }

  let key: Key
  /// The rev that the record, or its tombstone, had at the restore; 0 when neither was there.
  let base: Int64
  /// The greatest rev of the lost history that was handed back; 0 when nothing was.
  let rev: Int64
  /// The seq that the record, or its tombstone, had at the restore, or got by what was handed back; 0 where edits since were merged with that.
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
