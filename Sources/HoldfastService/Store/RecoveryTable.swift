package import HoldfastCore

/// The records that devices recovered to a restored database: docs/RESTORING.md, section 4.
package protocol RecoveryTable: AnyObject {
  /// The zone's state when the epoch began; nil for an unknown zone.
  func restored(_ zone: String) throws -> RestoredZone?

  /// The stored recovery entry of a record, or nil. Changes of the current transaction are not included.
  func entry(of key: RecoveryEntry.Key) throws -> RecoveryEntry?

  /// Stores recovery entries.
  func put(_ records: [RecoveryEntry]) throws

  /// The claims that users have made for a zone since the restore.
  func zoneClaims(of zone: String) throws -> [ZoneClaim]

  /// The number of a user's stored claims without proof.
  func unprovenClaims(of user: String) throws -> Int

  /// Stores a claim. Replaces the user's previous claim for the zone.
  func put(_ zoneClaim: ZoneClaim) throws

  /// Stores the seqs that devices claim to have of zones. The greatest seq per zone wins.
  func claim(_ seqs: TextMap<Int64>) throws
}

/// A user's claim that a device has more of a zone than the restored server: docs/RESTORING.md, section 4.
package struct ZoneClaim: Sendable, Equatable {
  /// The result of a claim.
  package enum State: Int64, Sendable {
    case waiting = 0
    case granted = 1
    case refused = 2
  }

  /// The part of a claim that each sync answer reads.
  package struct Mark: Sendable {
    package let device: Int64
    package let state: State
    package let isProven: Bool

    package init(device: Int64, state: Int64, isProven: Bool) {
      (self.device, self.state, self.isProven) = (device, State(rawValue: state) ?? .waiting, isProven)
    }
  }

  /// The maximum number of stored claims without proof per user.
  package static let unprovenLimit = 1000

  package let zone: String
  package let user: String
  /// The proven role, or the stated role if there is no proof.
  package var role: Role?
  /// The moment at which the role is proven; a greater moment is later. Nil without proof.
  package var moment: Moment?
  /// The number of the device that claimed last.
  package var device: Int64
  /// The number of records of the zone on the device.
  package var records: Int64
  /// The time of the claim, in milliseconds since 1970.
  package var at: Int64
  package var state = State.waiting
  /// Whether the database had the zone when the claim was read; not stored. Then there is nothing to decide.
  package var zoneExists = false

  package init(
    zone: String, user: String, role: Role? = nil, moment: Moment? = nil, device: Int64, records: Int64,
    at: Int64, state: State = State.waiting
  ) {
    (self.zone, self.user, self.role, self.moment, self.device, self.records, self.at, self.state) = (
      zone, user, role, moment, device, records, at, state
    )
  }

  /// A moment of a zone in an earlier epoch.
  package struct Moment: Sendable, Equatable, Comparable {
    /// 0 for the epoch right before the current one.
    package let epochsAgo: Int64
    package let seq: Int64

    package init(epochsAgo: Int64, seq: Int64) {
      (self.epochsAgo, self.seq) = (epochsAgo, seq)
    }

    package static func < (one: Moment, other: Moment) -> Bool {
      (-one.epochsAgo, one.seq) < (-other.epochsAgo, other.seq)
    }
  }

  /// The moment of a proven owner role that was granted again; else nil.
  package var recovered: Moment? { state == .granted && role == .owner ? moment : nil }
}

/// The state of one record of a zone in the backup, and its recovered state.
package struct RecoveryEntry: Sendable {
  package struct Key: Hashable, Sendable {
    package let zone: String
    package let table: String
    package let id: String
  }

  package let key: Key
  /// The rev of the record or its tombstone at the restore; 0 if there was neither.
  package let base: Int64
  /// The greatest recovered rev of the lost history; 0 if nothing was recovered.
  package let rev: Int64
  /// The seq of the record or its tombstone at the restore or after its recovery. 0 if later edits were merged with the recovered state.
  package let seq: Int64
  package let isDeletion: Bool

  package init(key: Key, base: Int64, rev: Int64, seq: Int64, isDeletion: Bool) {
    (self.key, self.base, self.rev, self.seq, self.isDeletion) = (key, base, rev, seq, isDeletion)
  }
}

/// The recoveries of one transaction, written right before the commit.
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
