package import HoldfastCore

/// Reads the shared database for one request, over a read-only connection; one thread at a time.
package protocol StoreReader: CollectionReader, GuestReader {
  /// Runs `body` in one read transaction, so that several reads see one snapshot.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  /// Runs `body`, which answers a request with changes: all that it reads is of one moment, and the device is read in it.
  ///
  /// - Parameter lookUp: what it asks for. It may run again.
  func moment<Result>(of lookUp: LookUp, _ body: () throws -> Result) throws -> Result

  /// The history as of the last look-up of a device.
  var history: History { get }

  /// Creates and verifies proofs with the database's key.
  var prover: Prover { get }

  /// The zones that the user has claimed since the restore, each with the last claiming device and the claim's state.
  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark>

  /// The device of a token, or nil.
  func device(_ token: TokenHash) throws -> KnownDevice?

  /// The devices of some tokens, without their zones. Unknown tokens are omitted.
  func devices(_ tokens: [TokenHash]) throws -> [KnownDevice]

  /// Those of some zones that are public and that a device follows.
  func followed(by device: Int64, among zones: [String]) throws -> [String]

  /// Keeps what a device is answered, in the transaction in which it was found out, for `StoreMemory` or the next reading.
  func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey)

  /// What was kept of a device whose row was read last, if that is still so; nil if nothing was.
  func answer(to request: QuietRequest, of device: DeviceKey) -> [UInt8]?

  /// Whether a ticket for an event stream is good.
  func hasTicket(_ ticket: TokenHash, at now: Int64) throws -> Bool

  /// The account of a name with its stored password, or nil.
  func account(_ name: String) throws -> (id: String, password: String)?

  /// The name and the stored password of an account, or nil.
  func account(id: String) throws -> (name: String, password: String)?

  /// The user with a name, or nil.
  func user(named name: String) throws -> FoundUser?

  /// The devices of a user, the last seen first.
  func devices(of user: String, limit: Int) throws -> [ListedDevice]

  /// All zones, or the named ones, for the server itself.
  func visibleZones(among zones: [String]?) throws -> VisibleZones

  /// The zones of a device: those of its user, and those that it has acked.
  func zones(of device: DeviceKey) throws -> [ZoneProgress]

  /// The refusals that a device has not acknowledged, in the order of their numbers.
  func refusals(of device: Int64) throws -> [StoredRefusal]

  /// A zone's current state, with an ack at its beginning; nil for an unknown zone.
  ///
  /// - Parameter user: the reader; nil for the server itself, which may read all.
  func zone(_ zone: String, for user: String?) throws -> ZoneProgress?

  /// Where some zones are. Unknown zones are omitted.
  func places(of zones: [String]) throws -> TextMap<ZonePlace>

  /// The zones that a user is a member of, in order.
  func memberships(of user: String) throws -> [String]

  /// The invitations to a zone, the latest first.
  func invitations(to zone: String) throws -> [Invitation]

  /// The same with the hashes of their tokens, for a zone that moves to another database.
  func invitationTokens(to zone: String) throws -> [(Invitation, TokenHash)]

  /// The origins of the carried change sets that took effect in a zone, in order, for a zone that moves to another database.
  ///
  /// - Parameter last: the last one read before; nil for the beginning.
  func carried(into zone: String, after last: CarriedOrigin?, limit: Int) throws -> [CarriedOrigin]

  /// The invitation of a token, or nil.
  func invitation(_ token: TokenHash) throws -> Invitation?

  /// The pending memberships of a user, the latest first. Inviters whom the user has blocked are omitted.
  func pendingMemberships(of user: String) throws -> [PendingMembership]

  /// The zones that a user was a member of when they moved to another database, in order.
  func leftZones(of user: String) throws -> [String]

  /// The zones of all pending memberships, in order.
  func pendingZones(of user: String) throws -> [String]

  /// The zones that name another as their group, the latest first.
  func grants(of group: String) throws -> [GroupGrant]

  /// The users that a user has blocked, ordered by name.
  func blocks(of user: String) throws -> [BlockedUser]

  /// The role of a zone's own member; nil for others.
  func ownRole(of user: String, in zone: String) throws -> Role?

  /// Zones that were read before in the same moment, of which the changes are read next; as they are then.
  func refreshed(_ zones: [ZoneProgress]) throws -> [ZoneProgress]

  /// The zones' state when the epoch began. Unknown zones are omitted.
  func restored(_ zones: [String]) throws -> TextMap<RestoredZone>

  /// Records of a table by their ids, live or deleted, as far as the user may read them. All from one snapshot.
  ///
  /// - Parameter user: the reader; nil for the server itself.
  func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord>

  /// The first user under erasure whose id is greater than `id`, or nil.
  func erasedUser(after id: String) throws -> String?

  /// The zones with erased users, each with its seq at the last erasure.
  func erasedZones() throws -> TextMap<Int64>

  /// Truncates the write-ahead log, so that deleted data is not in it either. Does nothing if the database has no log of its own.
  ///
  /// - Returns: false if another connection prevents it at this moment.
  func emptyLog() throws -> Bool

  /// The named zones, for the webhook.
  func zonesToNotify(_ zones: [String]) throws -> [UnnotifiedZone]

  /// The zones with changes that the webhook was not notified of, in the order of their names.
  ///
  /// - Parameters:
  ///   - place: returns only zones with greater names.
  ///   - limit: the maximum number of zones.
  func unnotifiedZones(after place: String, limit: Int) throws -> [String]

  /// Devices with push tokens, ordered by number. A device that follows several zones is in several results.
  ///
  /// - Parameters:
  ///   - number: returns only devices with greater numbers.
  ///   - limit: the maximum number of results.
  func pushTargets(_ audience: PushAudience, after number: Int64, limit: Int) throws -> [PushTarget]

  /// How far devices are behind, in the order of their numbers.
  ///
  /// - Parameter user: the devices' user; nil for all.
  func lag(of user: String?) throws -> [DeviceLag]

  /// Searches for data that can be purged.
  ///
  /// - Parameters:
  ///   - place: where the previous search ended; empty for the first.
  ///   - limit: the maximum number of candidates to examine.
  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable

  /// Writes an array of a zone's changes in seq order.
  ///
  /// After these changes the device has the zone at one moment. A record that changes meanwhile moves to a later seq, after the last
  /// written one.
  /// - Parameters:
  ///   - seq: writes only changes after this seq.
  ///   - limit: begins no further change once the whole text has this size in bytes.
  ///   - count: the maximum number of changes.
  /// - Returns: the range that was written.
  func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
}

/// Default: no cache, for stores that cannot tell whether the database changed.
extension StoreReader {
  package func moment<Result>(of lookUp: LookUp, _ body: () throws -> Result) throws -> Result {
    try moment(body)
  }

  package func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey) {}

  package func answer(to request: QuietRequest, of device: DeviceKey) -> [UInt8]? { nil }
}

extension StoreReader {
  /// A zone that a user may read.
  ///
  /// - Throws: `Problem`: `notFound`; `zoneMoved` for a member of a zone that has moved to another database.
  package func readable(_ zone: String, by user: String) throws -> ZoneProgress {
    if let known = try self.zone(zone, for: user), !known.role.isEmpty { return known }
    if let database = try places(of: [zone])[zone]?.leftFor, try ownRole(of: user, in: zone) != nil {
      throw Problem(moved: zone, to: database)
    }
    throw Problem(.notFound)
  }
}

/// A record that a reader requested by id and may read.
package enum SeenRecord {
  /// A live record, with the id of the request by which the reader created it, if any.
  case live(StoredRecord, creator: String?)
  /// A deleted record.
  case deleted(Tombstone)

  /// The zone that has, or had, the record.
  var zone: String {
    switch self {
    case .live(let record, _): record.zone
    case .deleted(let tombstone): tombstone.zone
    }
  }
}

/// The range of written changes.
package struct WrittenChanges {
  /// The last written seq.
  package var last: Int64
  package var count: Int64 = 0
  /// Whether more changes follow.
  package var hasMore = false
  /// The zone's last seq in the same snapshot.
  package var seq: Int64

  package init(last: Int64, count: Int64 = 0, hasMore: Bool = false, seq: Int64) {
    (self.last, self.count, self.hasMore, self.seq) = (last, count, hasMore, seq)
  }
}

/// A zone of which the webhook is notified.
package struct UnnotifiedZone: Sendable {
  package let zone: String
  package let seq: Int64
  package let isPublic: Bool
  /// The ids of its members.
  package let users: [String]

  package init(zone: String, seq: Int64, isPublic: Bool, users: [String]) {
    (self.zone, self.seq, self.isPublic, self.users) = (zone, seq, isPublic, users)
  }
}

/// A stored refusal of a change set.
package struct StoredRefusal {
  package let first: Int64
  package let last: Int64
  package let operation: Int64
  /// The problem document.
  package let problem: [UInt8]

  package init(first: Int64, last: Int64, operation: Int64, problem: [UInt8]) {
    (self.first, self.last, self.operation, self.problem) = (first, last, operation, problem)
  }
}

/// A device as its user sees it.
package struct ListedDevice {
  package let number: Int64
  package let id: String
  package let name: String
  /// When the device last wrote, in milliseconds since 1970.
  package let seenAt: Int64
  package let hasSession: Bool
  package let pushToken: PushToken?

  package init(
    number: Int64, id: String, name: String, seenAt: Int64, hasSession: Bool, pushToken: PushToken?
  ) {
    (self.number, self.id, self.name, self.seenAt, self.hasSession, self.pushToken) = (
      number, id, name, seenAt, hasSession, pushToken
    )
  }
}

/// The result of a look-up by name.
package struct FoundUser {
  package let id: String
  package let name: String
  /// The issuer of the user's identity; nil for a user with a password.
  package let issuer: String?

  package init(id: String, name: String, issuer: String?) {
    (self.id, self.name, self.issuer) = (id, name, issuer)
  }
}

extension [CreatedSet] {
  /// Those that made all changes of a zone since its ack; none if there are others. A record that changed since has another seq, so these
  /// are as they were sent.
  package func all(of zone: ZoneProgress, in epoch: String) -> [CreatedSet] {
    if isEmpty || zone.ack.epoch != epoch { return [] }
    let sets = filter { $0.zone == zone.zone }
    var reached = zone.ack.seq
    for set in sets {
      guard set.seqs.lowerBound == reached + 1 else { return [] }
      reached = set.seqs.upperBound
    }
    return reached == zone.seq ? sets : []
  }

  /// Whether the first change of a zone after an ack is among theirs.
  package func goOn(from ack: ZoneAck) -> Bool {
    contains { $0.zone == ack.zone && $0.seqs.lowerBound == ack.seq + 1 }
  }
}

/// A reader's progress in one zone, and the zone's state.
package struct ZoneProgress {
  package let zone: String
  /// The last ack. Its epoch is empty at the beginning of the zone.
  package let ack: ZoneAck
  /// Whether the ack is certainly stored. For an ack at the beginning of the zone, false leaves that open.
  package let isStored: Bool
  package var seq: Int64
  package var purged: Int64
  /// The role of the device's user; empty if the user may not read the zone.
  package var role: String
  /// Whether the user lost the zone after the device's ack. The device's later edits were made without access.
  package let wasLost: Bool
  /// Whether the ack is from another epoch; see `History`.
  package var isForeign = false
  /// Whether the ack is from another epoch, but also valid in the current history.
  var isOfBothHistories = false

  package init(
    zone: String, ack: ZoneAck, isStored: Bool, seq: Int64, purged: Int64, role: String,
    wasLost: Bool, isForeign: Bool = false, isOfBothHistories: Bool = false
  ) {
    (
      self.zone, self.ack, self.isStored, self.seq, self.purged, self.role, self.wasLost, self.isForeign,
      self.isOfBothHistories
    ) = (zone, ack, isStored, seq, purged, role, wasLost, isForeign, isOfBothHistories)
  }

  /// The ack as a change token of the wire.
  package var token: String {
    ack.epoch.isEmpty ? "" : ack.token.text
  }

  /// The purge horizon up to which a reader that continues from the ack misses nothing, where that is beyond `seq`.
  package var purgedAtBeginning: Int64 { ack.epoch.isEmpty ? purged : ack.purged }

  /// Whether the device must resync the zone: the ack is from another epoch or older than the purge horizon, or the zone was lost
  /// meanwhile.
  package func isFenced(epoch: String) -> Bool {
    let known = max(ack.seq, ack.purged)
    return wasLost
      || !ack.epoch.isEmpty
        && (ack.epoch != epoch && !isOfBothHistories || known < purged || known > seq)
  }

  /// The zone as seen by a device that has it up to a seq.
  package func acked(_ seq: Int64) -> ZoneProgress {
    ZoneProgress(
      zone: zone, ack: ZoneAck(zone: zone, epoch: ack.epoch, seq: seq, purged: ack.purged),
      isStored: isStored, seq: self.seq, purged: purged, role: role, wasLost: wasLost,
      isForeign: isForeign, isOfBothHistories: isOfBothHistories)
  }

  /// The zone as seen by a reader with a token; nil for a reader that starts from the beginning.
  package func acked(_ token: ChangeToken?) -> ZoneProgress {
    let ack = ZoneAck(
      zone: zone, epoch: token?.epoch ?? "", seq: token?.seq ?? 0, purged: token?.purged ?? 0)
    return ZoneProgress(
      zone: zone, ack: ack, isStored: false, seq: seq, purged: purged, role: role, wasLost: false)
  }

  /// Whether the zone has changes that the device has not seen.
  package var hasChanges: Bool { ack.epoch.isEmpty || isOfBothHistories || seq > ack.seq }
}
