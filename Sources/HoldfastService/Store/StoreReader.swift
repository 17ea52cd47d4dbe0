package import HoldfastCore

/// The shared database as one request reads it, over a connection that can't write; one thread at a time.
package protocol StoreReader: CollectionReader {
  /// Runs `body` in one read transaction, where reading in several steps would else see several moments.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result

  /// The history as it was when the last device was looked up.
  var history: History { get }

  /// Makes and checks proofs with the key of the database.
  var prover: Prover { get }

  /// The zones of which the user has claimed something since the restore, by which device last, and what became of each claim.
  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark>

  /// The device of a token, or nil.
  func device(_ token: TokenHash) throws -> KnownDevice?

  /// Keeps what a device is answered, in the transaction in which it was found out, for `StoreMemory`.
  func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey)

  /// The account of a name with its stored password, or nil.
  func account(_ name: String) throws -> (id: String, password: String)?

  /// The name of an account and its stored password, by its id, or nil.
  func account(id: String) throws -> (name: String, password: String)?

  /// The user of a name, and by whose word; nil when there is none.
  func user(named name: String) throws -> FoundUser?

  /// The devices of a user, those seen last first.
  func devices(of user: String, limit: Int) throws -> [ListedDevice]

  /// All zones, or those named, for the server itself.
  func visibleZones(among zones: [String]?) throws -> VisibleZones

  /// All zones of a device: those of its user, and those that it acks.
  func zones(of device: DeviceKey) throws -> [ZoneProgress]

  /// The refusals that a device has not dealt with, in the order of their numbers.
  func refusals(of device: Int64) throws -> [StoredRefusal]

  /// A zone as it is now, with an ack at its beginning; nil when there is none.
  ///
  /// - Parameter user: whose role it has; nil for the server itself, which may read all.
  func zone(_ zone: String, for user: String?) throws -> ZoneProgress?

  /// The zones that a user is a member of, in order.
  func memberships(of user: String) throws -> [String]

  /// The invitations to a zone, the latest first.
  func invitations(to zone: String) throws -> [Invitation]

  /// The invitation of a token, or nil.
  func invitation(_ token: TokenHash) throws -> Invitation?

  /// The memberships that wait for a user's word, the latest first; not those of whom the user has blocked.
  func pendingMemberships(of user: String) throws -> [PendingMembership]

  /// The zones of all of them, in order.
  func pendingZones(of user: String) throws -> [String]

  /// The zones that name another as their group, the latest first.
  func grants(of group: String) throws -> [GroupGrant]

  /// The users whom a user has blocked, by their names.
  func blocks(of user: String) throws -> [BlockedUser]

  /// The role of a zone's own member; nil for others.
  func ownRole(of user: String, in zone: String) throws -> Role?

  /// Zones that were read before, as they are at the moment from which their changes will be read.
  ///
  /// - Parameter user: who reads; nil for the server itself.
  func refreshed(_ zones: [ZoneProgress], for user: String?) throws -> [ZoneProgress]

  /// Zones as they were when the epoch began; those that are not there are left out.
  func restored(_ zones: [String]) throws -> TextMap<RestoredZone>

  /// Records of a table by their ids, all of one moment, as far as a user may read them: those that live, and what stays of those that are deleted.
  ///
  /// - Parameter user: who reads; nil for the server itself.
  func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord>

  /// The first user behind an id who is being erased, or nil.
  func erasedUser(after id: String) throws -> String?

  /// The zones from which somebody was erased, each with its seq then.
  func erasedZones() throws -> TextMap<Int64>

  /// Sees to it that what was deleted is not in the write-ahead log of the database either, where it has one of its own.
  ///
  /// - Returns: false when somebody is in the way just now.
  func emptyLog() throws -> Bool

  /// Zones of which the team's program was not told all: those named, or any.
  ///
  /// - Parameter limit: how many at the most.
  func unnotified(_ zones: [String]?, limit: Int) throws -> [UnnotifiedZone]

  /// How far devices are behind, in the order of their numbers.
  ///
  /// - Parameter user: whose; nil for all.
  func lag(of user: String?) throws -> [DeviceLag]

  /// Looks for what may be purged.
  ///
  /// - Parameters:
  ///   - place: where the look before has ended; empty for the first.
  ///   - limit: how many are looked at.
  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable

  /// Writes an array of the changes of a zone in seq order.
  ///
  /// What the device has with them is the zone at one moment, also when it was written meanwhile: what changes moves behind the last.
  /// - Parameters:
  ///   - seq: the changes after this one.
  ///   - limit: the size of the whole text from which on no further change is begun.
  ///   - count: how many changes at the most.
  /// - Returns: what was written.
  func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
}

/// A store that can't tell whether something was written keeps nothing.
extension StoreReader {
  package func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey) {}
}

/// A record that somebody asked for by its id, and may read.
package enum SeenRecord {
  /// It lives; with the id of the request by which the reader created it, where there was one.
  case live(StoredRecord, creator: String?)
  /// It was deleted.
  case deleted(Tombstone)
}

/// How far changes were written.
package struct WrittenChanges {
  /// The seq of the last.
  package var last: Int64
  package var count: Int64 = 0
  /// Whether others follow.
  package var hasMore = false
  /// The zone's last seq at that moment.
  package var seq: Int64

  package init(last: Int64, count: Int64 = 0, hasMore: Bool = false, seq: Int64) {
    (self.last, self.count, self.hasMore, self.seq) = (last, count, hasMore, seq)
  }
}

/// A zone of which the team's program was not told all.
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

/// Why a change set was refused, as it is remembered.
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
  /// When it last wrote, in milliseconds since 1970.
  package let seenAt: Int64
  package let hasSession: Bool

  package init(number: Int64, id: String, name: String, seenAt: Int64, hasSession: Bool) {
    (self.number, self.id, self.name, self.seenAt, self.hasSession) = (number, id, name, seenAt, hasSession)
  }
}

/// What a reader knows of the device that asks.
package struct KnownDevice: Sendable {
  package var key: DeviceKey
  package let confirmed: Int64
  package let chain: Fingerprint
  /// When it last wrote, in milliseconds since 1970.
  package let seenAt: Int64
  /// When its session began, in milliseconds since 1970.
  package let sessionAt: Int64
  /// The greatest number up to which it has said to have dealt with the answers.
  package let acknowledgedRefusals: Int64
  /// Whether the session's first request was written.
  package let isSessionUsed: Bool
  /// Of the device of a JWT: from when on issued ones are taken, in milliseconds since 1970; nil for others.
  package let issuedAfter: Int64?
  /// Whether its acks were purged, as it was dead, and it has not said all of them since.
  package let hasPurgedAcks: Bool
  /// What it said of itself last.
  package let client: ClientVersion?

  package init(
    key: DeviceKey, confirmed: Int64, chain: Fingerprint, seenAt: Int64, sessionAt: Int64,
    acknowledgedRefusals: Int64, isSessionUsed: Bool, issuedAfter: Int64?, hasPurgedAcks: Bool,
    client: ClientVersion?
  ) {
    (
      self.key, self.confirmed, self.chain, self.seenAt, self.sessionAt, self.acknowledgedRefusals,
      self.isSessionUsed, self.issuedAfter, self.hasPurgedAcks, self.client
    ) = (
      key, confirmed, chain, seenAt, sessionAt, acknowledgedRefusals, isSessionUsed, issuedAfter,
      hasPurgedAcks, client
    )
  }
}

extension KnownDevice {
  /// For how many milliseconds the token is good without being looked up again; nil when its session is over. Other tokens are good until
  /// they are revoked.
  package func sessionRest(_ limits: UserLimits, at now: Int64) -> Int64? {
    guard case .session = key.use else { return 3_600_000 }
    let end = min(
      seenAt.addingClamped(limits.sessionIdle), sessionAt.addingClamped(limits.sessionLifetime))
    // What is written makes it last longer, and it may be long until somebody looks.
    return now < end ? min(end - now, 3_600_000) : nil
  }
}

extension Int64 {
  /// A time in milliseconds, later by a duration; the latest where that is beyond all.
  fileprivate func addingClamped(_ duration: Duration) -> Int64 {
    let (milliseconds, isBeyond) = duration.components.seconds.multipliedReportingOverflow(by: 1000)
    if isBeyond { return .max }
    let (sum, isTooLate) = addingReportingOverflow(milliseconds)
    return isTooLate ? .max : sum
  }
}

/// A user whom somebody looks up by name.
package struct FoundUser {
  package let id: String
  package let name: String
  /// Whose identity the user has; nil for who has a password.
  package let issuer: String?

  package init(id: String, name: String, issuer: String?) {
    (self.id, self.name, self.issuer) = (id, name, issuer)
  }
}

/// How far a device or a user has read one zone, and how far the zone is.
package struct ZoneProgress {
  package let zone: String
  /// The ack, whose epoch is empty at the beginning of the zone.
  package let ack: ZoneAck
  /// Whether the ack is stored; one that is at the beginning of the zone may be or not.
  package let isStored: Bool
  package var seq: Int64
  package var purged: Int64
  /// The role of the device's user; empty for a zone that may not be read.
  package var role: String
  /// Whether the user lost the zone after the device's ack: what the device did meanwhile was done as a stranger.
  package let wasLost: Bool
  /// Whether the ack is of another history; see `History`.
  package var isForeign = false
  /// Whether what the ack says is true in the history of now all the same.
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

  /// The ack as a token of the wire.
  package var token: String {
    ack.epoch.isEmpty ? "" : ack.token.text
  }

  /// Up to where the zone may have been purged, so that who goes on behind the ack misses nothing; where `seq` is not beyond that.
  package var purgedAtBeginning: Int64 { ack.epoch.isEmpty ? purged : ack.purged }

  /// Whether the device must resync the zone: its ack is of another history, or older than what is remembered, or the zone was
  /// lost in between.
  package func isFenced(epoch: String) -> Bool {
    let known = max(ack.seq, ack.purged)
    return wasLost
      || !ack.epoch.isEmpty
        && (ack.epoch != epoch && !isOfBothHistories || known < purged || known > seq)
  }

  /// The zone for a device that has it up to a seq.
  package func acked(_ seq: Int64) -> ZoneProgress {
    ZoneProgress(
      zone: zone, ack: ZoneAck(zone: zone, epoch: ack.epoch, seq: seq, purged: ack.purged),
      isStored: isStored, seq: self.seq, purged: purged, role: role, wasLost: wasLost,
      isForeign: isForeign, isOfBothHistories: isOfBothHistories)
  }

  /// The zone for somebody who has it up to a token; nil for who begins.
  package func acked(_ token: ChangeToken?) -> ZoneProgress {
    let ack = ZoneAck(
      zone: zone, epoch: token?.epoch ?? "", seq: token?.seq ?? 0, purged: token?.purged ?? 0)
    return ZoneProgress(
      zone: zone, ack: ack, isStored: false, seq: seq, purged: purged, role: role, wasLost: false)
  }

  /// Whether there is something that the device has not seen.
  package var hasChanges: Bool { ack.epoch.isEmpty || isOfBothHistories || seq > ack.seq }
}
