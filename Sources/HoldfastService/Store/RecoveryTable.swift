package import HoldfastCore

/// What devices recovered to a restored database; docs/RESTORING.md, section 4.
package protocol RecoveryTable: AnyObject {
  /// A zone as it was when the epoch began; nil when there is no such zone.
  func restored(_ zone: String) throws -> RestoredZone?

  /// What is known of a record of the lost history, by the transactions before; nil when nothing is.
  func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry?

  /// Remembers what was recovered.
  func put(_ records: [RecoveryEntry]) throws

  /// Who has claimed something of a zone since the restore.
  func zoneClaims(of zone: String) throws -> [ZoneClaim]

  /// How many claims without proof are kept of a user.
  func unprovenClaims(of user: String) throws -> Int

  /// Writes a claim, over the one that the user has made before.
  func put(_ zoneClaim: ZoneClaim) throws

  /// Remembers how far devices say that they had zones; the greatest counts.
  func claim(_ seqs: TextMap<Int64>) throws
}

/// A user whose device has more of a zone than a restored server: docs/RESTORING.md, section 4.
package struct ZoneClaim: Sendable, Equatable {
  /// What became of the claim.
  package enum State: Int64, Sendable {
    case waiting = 0
    case granted = 1
    case refused = 2
  }

  /// What is looked at of a claim in each answer.
  package struct Mark: Sendable {
    package let device: Int64
    package let state: State
    package let isProven: Bool

    package init(device: Int64, state: Int64, isProven: Bool) {
      (self.device, self.state, self.isProven) = (device, State(rawValue: state) ?? .waiting, isProven)
    }
  }

  /// How many claims without proof are kept of a user.
  package static let unprovenLimit = 1000

  package let zone: String
  package let user: String
  /// The role that is proven, or said without proof.
  package var role: Role?
  /// Up to where the role is proven: the greater is the later. Nil without proof.
  package var moment: Moment?
  /// The number of the device that claimed last.
  package var device: Int64
  /// How many records of the zone it has.
  package var records: Int64
  /// When it claimed, in milliseconds since 1970.
  package var at: Int64
  package var state = State.waiting

  package init(
    zone: String, user: String, role: Role? = nil, moment: Moment? = nil, device: Int64, records: Int64,
    at: Int64, state: State = State.waiting
  ) {
    (self.zone, self.user, self.role, self.moment, self.device, self.records, self.at, self.state) = (
      zone, user, role, moment, device, records, at, state
    )
  }

  /// A moment of a zone in a history that has ended.
  package struct Moment: Sendable, Equatable, Comparable {
    /// 0 in the epoch right before this one.
    package let epochsAgo: Int64
    package let seq: Int64

    package init(epochsAgo: Int64, seq: Int64) {
      (self.epochsAgo, self.seq) = (epochsAgo, seq)
    }

    package static func < (one: Moment, other: Moment) -> Bool {
      (-one.epochsAgo, one.seq) < (-other.epochsAgo, other.seq)
    }
  }

  /// The moment of a role that came back by its proof, as owner.
  package var recovered: Moment? { state == .granted && role == .owner ? moment : nil }
}

/// What the backup has of one record in a zone, and what was recovered of it.
package struct RecoveryEntry: Sendable {
  package struct Key: Hashable, Sendable {
    package let zone: String
    package let table: String
    package let id: String
  }

  package let key: Key
  /// The rev that the record, or its tombstone, had at the restore; 0 when neither was there.
  package let base: Int64
  /// The greatest rev of the lost history that was recovered; 0 when nothing was.
  package let rev: Int64
  /// The seq that the record, or its tombstone, had at the restore, or got by what was recovered; 0 where edits since were merged with that.
  package let seq: Int64
  package let isDeletion: Bool

  package init(key: Key, base: Int64, rev: Int64, seq: Int64, isDeletion: Bool) {
    (self.key, self.base, self.rev, self.seq, self.isDeletion) = (key, base, rev, seq, isDeletion)
  }
}

/// What is recovered in one transaction, written right before the commit.
struct RecoveryLedger {
  private var entries: [RecoveryEntry.Key: RecoveryEntry] = [:]
  private var claims: TextMap<Int64> = [:]

  mutating func add(_ records: [RecoveryEntry]) { for record in records { entries[record.key] = record } }

  mutating func claim(_ zone: String, _ seq: Int64) { claims[zone] = max(claims[zone] ?? 0, seq) }

  func entry(of key: RecoveryEntry.Key) -> RecoveryEntry? { entries[key] }

  func flush(to table: any RecoveryTable) throws {
    if !entries.isEmpty { try table.put(Array(entries.values)) }
    if !claims.isEmpty { try table.claim(claims) }
  }
}
