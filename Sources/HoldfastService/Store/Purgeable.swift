/// Data that a retention pass found. One or more commands purge it.
package enum Purgeable: Sendable, Equatable {
  /// In the order of a pass. An erased user leaves shared zones before the remaining data is searched.
  package enum Kind: CaseIterable, Sendable {
    case departures, erasedRecords, remains, endings
    case conflicts, acks, tombstones, answers, results, lostHistory, unusedDevices, carried

    /// The kinds that erase users: docs/EXPORT-AND-ERASURE.md, section 2.
    package static let ofErasures: [Kind] = [.departures, .erasedRecords, .remains, .endings]
  }

  /// A zone that a user under erasure belongs to. The user leaves it if it is empty or has other members.
  case departure(user: String, zone: String)
  /// Records of a zone whose only member is a user under erasure.
  case erasedRecords(user: String, zone: String, [Footprint.Key])
  /// Data other than records: of the devices of a user under erasure, and of the user.
  case remains(user: String)
  /// The final step of an erasure, when no data of the user is left.
  case ending(user: String)
  /// The tombstones of a zone up to its purge horizon.
  case tombstones(zone: String)
  /// The acks of a dead device.
  case acks(device: Int64)
  /// Expired entries of the conflict log.
  case conflicts([LoggedConflict])
  /// Stored answers to requests of a device.
  case answers(device: Int64, upTo: Int64)
  /// A stored query result with its ids.
  case result(user: String, token: [UInt8])
  /// Devices that were never used.
  case unusedDevices([Int64])
  /// Data about a zone's history before a restore.
  case lostHistory(zone: String)
  /// Expired origins of carried change sets.
  case carried
  /// Small items for one transaction. If it fails, each gets its own, so that one of them holds up no other.
  case together([Purgeable])

  /// The items in groups of at most `groupSize` for one transaction each.
  package static func grouped(_ items: [Purgeable]) -> [Purgeable] {
    stride(from: 0, to: items.count, by: groupSize).map { first in
      .together(Array(items[first..<min(first + groupSize, items.count)]))
    }
  }

  /// The zones that a transaction locks at most.
  private static let groupSize = 50
}

/// An entry of the conflict log.
package struct LoggedConflict: Sendable, Equatable {
  package let id: String
  package let zone: String

  package init(id: String, zone: String) {
    (self.id, self.zone) = (id, zone)
  }
}

/// The results of one search.
package struct FoundPurgeable: Sendable {
  /// The maximum number of items per search.
  package static let most = 200

  package var items: [Purgeable] = []
  /// Where to continue the search; nil at the end.
  package var next: String?

  package init(items: [Purgeable] = [], next: String? = nil) {
    (self.items, self.next) = (items, next)
  }
}

/// The amounts of purged data.
public struct Purged: Sendable, Equatable {
  /// Tombstones, including departures.
  public var tombstones = 0
  /// Transactions that purged tombstones. Each handles one zone.
  public var zones = 0
  /// Entries that link a record to the request that created it.
  public var created = 0
  /// Acks of dead devices.
  public var acks = 0
  /// Entries of the conflict log.
  public var conflicts = 0
  /// Stored answers to REST requests.
  public var answers = 0
  /// Stored query results.
  public var results = 0
  /// Rows about histories before a restore.
  public var lostHistory = 0
  /// Devices that were never used.
  public var devices = 0
  /// Origins of carried change sets.
  public var carried = 0
  /// Records of users under erasure, including memberships.
  public var erasedRecords = 0
  /// Other rows of users under erasure.
  public var remains = 0
  /// Users whose erasure is complete.
  public var users = 0
  /// Commands that were postponed.
  public var postponed = 0

  /// Whether a repeat of the command would find more.
  package var hasMore = false

  package init(
    tombstones: Int = 0, zones: Int = 0, created: Int = 0, acks: Int = 0, conflicts: Int = 0,
    answers: Int = 0, results: Int = 0, lostHistory: Int = 0, devices: Int = 0, carried: Int = 0,
    erasedRecords: Int = 0, remains: Int = 0, users: Int = 0, postponed: Int = 0, hasMore: Bool = false
  ) {
    (
      self.tombstones, self.zones, self.created, self.acks, self.conflicts, self.answers, self.results,
      self.lostHistory, self.devices, self.carried, self.erasedRecords, self.remains, self.users,
      self.postponed, self.hasMore
    ) = (
      tombstones, zones, created, acks, conflicts, answers, results, lostHistory, devices, carried,
      erasedRecords, remains, users, postponed, hasMore
    )
  }

  /// Adds the amounts of another command.
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
    carried += other.carried
    erasedRecords += other.erasedRecords
    remains += other.remains
    users += other.users
    postponed += other.postponed
  }
}

/// Purges data in a store's transaction.
package protocol PurgeTable: AnyObject {
  /// Purges an item of any kind but records, if the item still qualifies.
  func purge(_ item: Purgeable, _ terms: RetentionTerms) throws -> Purged

  /// The stored trusted time; nil if none is stored.
  func time() throws -> TrustedTime?

  /// The stored trusted time. Locks it until the end of the transaction.
  func lockTime() throws -> TrustedTime?

  /// Stores the trusted time.
  func setTime(_ time: TrustedTime) throws

  /// Lowers timestamps that lie after `now`, because the clock was set back.
  ///
  /// - Parameter now: milliseconds since 1970.
  func rollBack(to now: Int64) throws
}

/// The purge state of a zone.
package struct PurgeHorizon {
  /// The seq up to which tombstones are purged.
  package let purged: Int64
  /// The seq up to which tombstones can be purged.
  package let seq: Int64

  package init(purged: Int64, seq: Int64) {
    (self.purged, self.seq) = (purged, seq)
  }
}
