package import HoldfastCore

/// What the writer knows of a device.
package struct DeviceState {
  package let id: String
  package let user: String
  package var confirmed: Int64
  package var chain: Fingerprint
  /// The greatest number up to which the device has said to have dealt with the answers.
  package var acknowledgedRefusals: Int64
  /// Its last change sets that took effect.
  package var applied: AppliedChangeSets
  /// When its last request was written, but for old ones that brought nothing, and whether one was in this session.
  package var clock: Stamp
  package var isSessionUsed: Bool
  /// Of the device of a JWT: in milliseconds since 1970, from when on issued ones are taken; nil for others.
  package let issuedAfter: Int64?
  /// Whether its acks were purged, as it was dead, and it has not said all of them since.
  package var hasPurgedAcks: Bool
  /// Whether it has not said its acks since the database was restored.
  package let isUnseenSinceRestore: Bool

  package init(
    id: String, user: String, confirmed: Int64, chain: Fingerprint, acknowledgedRefusals: Int64,
    applied: AppliedChangeSets, clock: Stamp, isSessionUsed: Bool, issuedAfter: Int64?, hasPurgedAcks: Bool,
    isUnseenSinceRestore: Bool
  ) {
    (
      self.id, self.user, self.confirmed, self.chain, self.acknowledgedRefusals, self.applied, self.clock,
      self.isSessionUsed, self.issuedAfter, self.hasPurgedAcks, self.isUnseenSinceRestore
    ) = (
      id, user, confirmed, chain, acknowledgedRefusals, applied, clock, isSessionUsed, issuedAfter,
      hasPurgedAcks, isUnseenSinceRestore
    )
  }
}

/// The row of a device.
package struct DeviceRow {
  package var state: DeviceState
  /// The hash of its token; nil when it has none.
  package var token: [UInt8]?
  /// The last numbers of the refusals that it has not dealt with.
  package var refusals: [Int64]
  /// How many acks it has, where that was counted.
  package var ackCount: Int?

  package init(_ state: DeviceState, token: [UInt8]?, refusals: [Int64] = [], ackCount: Int? = nil) {
    (self.state, self.token, self.refusals, self.ackCount) = (state, token, refusals, ackCount)
  }
}

/// The devices, their acks and their refusals, as the database has them.
package protocol DeviceTable: AnyObject {
  /// A device, or nil. Nobody else changes it before the transaction has ended.
  func row(_ number: Int64) throws -> DeviceRow?

  /// The ids of a device and of its user, or nil.
  func owner(of number: Int64) throws -> (id: String, user: String)?

  /// Whether a device has more acks than `limit`.
  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool

  /// The zones of which a device has an ack of another history than that of an epoch, without those that it lost since.
  func ackedZones(of number: Int64, notOf epoch: String) throws -> [String]

  /// Whether a user's device has an ack of a zone of another history than that of an epoch, and the user did not lose the zone since.
  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool

  /// Whether a device has a zone up to some seq, and did not lose it since.
  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool

  /// Writes what a device says of itself.
  func setClient(_ client: ClientVersion, of number: Int64) throws

  /// A device whose acks were purged has said all of them.
  func remember(_ number: Int64) throws

  /// Adds a device, with its first session.
  func add(_ device: NewDevice) throws

  /// The last session of a user's device; nil when it is not the user's.
  func session(of device: String, user: String) throws -> LastSession?

  /// Begins another session of a device.
  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws

  /// The devices of a user, and whether each has a token.
  func devices(of user: String) throws -> [OwnedDevice]

  /// The number of a user's device, by its id; nil when it is not the user's.
  func number(of device: String, user: String) throws -> Int64?

  /// The device with a session that the user was seen on least recently, if there are as many as a limit, or more.
  func leastRecent(of user: String, whereAtLeast limit: Int) throws -> Int64?

  /// Whether there is a device of a token.
  func hasDevice(of token: TokenHash) throws -> Bool

  /// Makes the device's token invalid, or the JWTs that were issued for it until now.
  func revoke(_ number: Int64, at now: Int64) throws

  /// Takes from devices their tokens for ever, and what says whose they are and what they run.
  func strip(_ numbers: [Int64]) throws
}

/// A device of a user.
package struct OwnedDevice {
  package let number: Int64
  package let id: String
  package let hasToken: Bool

  package init(number: Int64, id: String, hasToken: Bool) {
    (self.number, self.id, self.hasToken) = (number, id, hasToken)
  }
}

/// The last session of a device.
package struct LastSession {
  package let number: Int64
  /// Whether anything was ever sent in it.
  package let isUsed: Bool
  /// The device's last change sets that took effect.
  package let applied: AppliedChangeSets

  package init(number: Int64, isUsed: Bool, applied: AppliedChangeSets) {
    (self.number, self.isUsed, self.applied) = (number, isUsed, applied)
  }
}

/// A device that is to be added.
package struct NewDevice {
  package let id: String
  package let user: String
  package let name: String
  package let token: TokenHash
  package let clock: Stamp
  /// What the clock shows, in milliseconds since 1970.
  package let seenAt: Int64
  /// Of a service token: what it may be used for, as it is stored.
  package var scope: String?
  /// Of the device of a JWT: from when on issued ones are taken.
  package var issuedAfter: Int64?

  package init(
    id: String, user: String, name: String, token: TokenHash, clock: Stamp, seenAt: Int64,
    scope: String? = nil, issuedAfter: Int64? = nil
  ) {
    (self.id, self.user, self.name, self.token, self.clock, self.seenAt, self.scope, self.issuedAfter) = (
      id, user, name, token, clock, seenAt, scope, issuedAfter
    )
  }
}

/// The accounts. One that is being erased, or is erased, is there by its id alone.
package protocol AccountTable: AnyObject {
  /// The id of the account of a name, or nil.
  func id(ofName name: String) throws -> String?

  /// The name of an account and its stored password, or nil.
  func account(_ id: String) throws -> (name: String, password: String)?

  /// The name of an account, or nil.
  func name(ofID id: String) throws -> String?

  /// Whether there is an account of an id, or was one.
  func isKnown(_ id: String) throws -> Bool

  /// Adds an account.
  ///
  /// - Parameter password: its hash; empty for who signs in otherwise.
  func add(_ id: String, name: String, password: String, at now: Stamp) throws

  /// Stores another password.
  func setPassword(_ password: String, of id: String) throws

  /// The user whom an issuer calls by a subject, or nil.
  func user(of identity: Identity) throws -> String?

  /// Remembers whom an issuer calls by a subject.
  func add(_ identity: Identity, of user: String) throws

  /// Takes from an account its name, its password and its identities: from now on it is being erased.
  func beginErasure(of id: String) throws
}

/// How far an account is on its way out, as it is stored: docs/EXPORT-AND-ERASURE.md, section 2.
package enum Erasure: Int64 {
  case none = 0
  case begun = 1
  case done = 2

  /// What stands in place of the name: unlike every name, and unlike that of every other.
  package static func name(of id: String) -> String { "(erased) \(id)" }
}
