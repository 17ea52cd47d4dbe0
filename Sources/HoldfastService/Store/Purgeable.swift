/// Something that a pass found, to be purged by one command, or by several where it is much.
package enum Purgeable: Sendable, Equatable {
  /// In the order in which a pass looks for them: who is being erased leaves what is shared before the rest is gone through.
  package enum Kind: CaseIterable, Sendable {
    case departures, erasedRecords, remains, endings
    case conflicts, acks, tombstones, answers, results, lostHistory, unusedDevices

    /// Those by which users are erased: docs/EXPORT-AND-ERASURE.md, section 2.
    package static let ofErasures: [Kind] = [.departures, .erasedRecords, .remains, .endings]
  }

  /// A zone that a user who is being erased is a member of: to be left, if it is empty, or others are there.
  case departure(user: String, zone: String)
  /// Records of a zone of which nobody but such a user is a member.
  case erasedRecords(user: String, zone: String, [Footprint.Key])
  /// What is kept for the devices of such a user, and of what the user made besides records.
  case remains(user: String)
  /// The erasure itself, when nothing is left.
  case ending(user: String)
  /// Those of a zone, up to its horizon.
  case tombstones(zone: String)
  /// Those of a device that is dead.
  case acks(device: Int64)
  /// Overlaps that were logged long ago.
  case conflicts([LoggedConflict])
  /// Answers to requests of a device.
  case answers(device: Int64, upTo: Int64)
  /// A kept result, with its ids.
  case result(user: String, token: [UInt8])
  /// Devices that were never used.
  case unusedDevices([Int64])
  /// What is known of a zone's history before a restore.
  case lostHistory(zone: String)
}

/// An overlap in the log.
package struct LoggedConflict: Sendable, Equatable {
  package let id: String
  package let zone: String

  package init(id: String, zone: String) {
    (self.id, self.zone) = (id, zone)
  }
}

/// What a pass found in one look.
package struct FoundPurgeable: Sendable {
  /// How much is looked for at once.
  package static let most = 200

  package var items: [Purgeable] = []
  /// Where to look on; nil when that was all.
  package var next: String?

  package init(items: [Purgeable] = [], next: String? = nil) {
    (self.items, self.next) = (items, next)
  }
}

/// How much was purged.
public struct Purged: Sendable, Equatable {
  /// Tombstones, departures among them.
  public var tombstones = 0
  /// In how many transactions, each of one zone.
  public var zones = 0
  /// Notes of which request created a record.
  public var created = 0
  /// Acks of dead devices.
  public var acks = 0
  /// Overlaps in the log.
  public var conflicts = 0
  /// Answers to requests of REST.
  public var answers = 0
  /// Kept results.
  public var results = 0
  /// Rows of what is known of histories before a restore.
  public var lostHistory = 0
  /// Devices that were never used.
  public var devices = 0
  /// Records of users who are being erased, their memberships among them.
  public var erasedRecords = 0
  /// Rows of what is kept besides for such users.
  public var remains = 0
  /// Users who are erased now.
  public var users = 0
  /// Commands that could not be done now.
  public var postponed = 0

  /// Whether the same command will find more.
  package var hasMore = false

  package init(
    tombstones: Int = 0, zones: Int = 0, created: Int = 0, acks: Int = 0, conflicts: Int = 0,
    answers: Int = 0, results: Int = 0, lostHistory: Int = 0, devices: Int = 0, erasedRecords: Int = 0,
    remains: Int = 0, users: Int = 0, postponed: Int = 0, hasMore: Bool = false
  ) {
    (
      self.tombstones, self.zones, self.created, self.acks, self.conflicts, self.answers, self.results,
      self.lostHistory, self.devices, self.erasedRecords, self.remains, self.users, self.postponed,
      self.hasMore
    ) = (
      tombstones, zones, created, acks, conflicts, answers, results, lostHistory, devices, erasedRecords,
      remains, users, postponed, hasMore
    )
  }

  /// Counts what another command has purged.
  package mutating func add(_ other: Purged) {
    tombstones += other.tombstones
    zones += other.zones
    created += other.created
    acks += other.acks
    conflicts += other.conflicts
    answers += other.answers
    results += other.results
    lostHistory += other.lostHistory
    devices += other.devices
    erasedRecords += other.erasedRecords
    remains += other.remains
    users += other.users
    postponed += other.postponed
  }
}

/// Purges, in the transaction of a store.
package protocol PurgeTable: AnyObject {
  /// Purges what a pass found, if it is still to be purged; all but records.
  func purge(_ item: Purgeable, _ terms: RetentionTerms) throws -> Purged

  /// The time that is trusted, as it is kept; nil when it never was.
  func time() throws -> TrustedTime?

  /// The same, and nobody else writes it before the transaction has ended.
  func lockTime() throws -> TrustedTime?

  /// Keeps it.
  func setTime(_ time: TrustedTime) throws

  /// The clock was set back: what was written since is as if it were of now.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func rollBack(to now: Int64) throws
}

/// The horizon of a zone, and what stands before it.
package struct PurgeHorizon {
  package let purged: Int64
  /// Up to where tombstones may go.
  package let seq: Int64

  package init(purged: Int64, seq: Int64) {
    (self.purged, self.seq) = (purged, seq)
  }
}
