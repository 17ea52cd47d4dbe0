package import HoldfastCore

/// The state of a device, as a writing transaction sees it.
package struct DeviceState {
  package let id: String
  package let user: String
  package var confirmed: Int64
  package var chain: Fingerprint
  /// The operation number up to which the device has acknowledged its refusals.
  package var acknowledgedRefusals: Int64
  /// The device's latest applied change sets.
  package var applied: AppliedChangeSets
  /// The stamp of the device's last stored sync request. Stale ones without new content do not advance it.
  package var clock: Stamp
  /// When it was last written down that the device is alive, in milliseconds since 1970.
  package var seenAt: Int64
  /// Whether the server has stored a request of the current session.
  package var isSessionUsed: Bool
  /// For the device of a JWT: JWTs issued at or before this time are invalid (milliseconds since 1970). Nil for other devices.
  package var issuedAfter: Int64?
  /// Whether the device's acks were purged because it was dead, and it has not sent all acks since.
  package var hasPurgedAcks: Bool
  /// Whether the device has not sent its acks since the database was restored.
  package var isUnseenSinceRestore: Bool

  package init(
    id: String, user: String, confirmed: Int64, chain: Fingerprint, acknowledgedRefusals: Int64,
    applied: AppliedChangeSets, clock: Stamp, seenAt: Int64, isSessionUsed: Bool, issuedAfter: Int64?,
    hasPurgedAcks: Bool, isUnseenSinceRestore: Bool
  ) {
    (
      self.id, self.user, self.confirmed, self.chain, self.acknowledgedRefusals, self.applied, self.clock,
      self.seenAt, self.isSessionUsed, self.issuedAfter, self.hasPurgedAcks, self.isUnseenSinceRestore
    ) = (
      id, user, confirmed, chain, acknowledgedRefusals, applied, clock, seenAt, isSessionUsed, issuedAfter,
      hasPurgedAcks, isUnseenSinceRestore
    )
  }
}

/// A device's row.
package struct DeviceRow {
  package var state: DeviceState
  /// The hash of the device's token; nil without a token.
  package var token: [UInt8]?
  /// The last operation numbers of the refusals that the device has not acknowledged.
  package var refusals: [Int64]
  /// The number of the device's acks, if counted.
  package var ackCount: Int?

  package init(_ state: DeviceState, token: [UInt8]?, refusals: [Int64] = [], ackCount: Int? = nil) {
    (self.state, self.token, self.refusals, self.ackCount) = (state, token, refusals, ackCount)
  }
}

/// The stored devices, their acks and their refusals.
package protocol DeviceTable: AnyObject {
  /// A device, or nil. Locks the row until the end of the transaction.
  func row(_ number: Int64) throws -> DeviceRow?

  /// The ids of a device and of its user, or nil.
  func owner(of number: Int64) throws -> (id: String, user: String)?

  /// Whether a device has more acks than `limit`.
  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool

  /// Some of the zones that a device acked in an epoch other than `epoch`, except lost zones: at most `limit`.
  func ackedZones(of number: Int64, notOf epoch: String, limit: Int) throws -> [String]

  /// Whether a zone has moved to another database.
  func hasLeftZones() throws -> Bool

  /// Whether a device of the user acked the zone in an epoch other than `epoch`, and the user has not lost the zone since.
  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool

  /// Whether a device acked a zone up to `seq`, and has not lost the zone since.
  func hasAcked(_ seq: Int64, of zone: String, device: Int64) throws -> Bool

  /// Stores the app and schema version that a device reports.
  func setClient(_ client: ClientVersion, of number: Int64) throws

  /// Records that a device whose acks were purged has sent all of them again.
  func remember(_ number: Int64) throws

  /// Adds a device, with its first session.
  func add(_ device: NewDevice) throws

  /// The last session of a user's device; nil if the device belongs to another user, or takes no sessions: it is the device of a JWT or of
  /// a service token.
  func session(of device: String, user: String) throws -> LastSession?

  /// Begins a new session of a device, which invalidates its previous token and ticket.
  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws

  /// The devices of a user.
  func devices(of user: String) throws -> [OwnedDevice]

  /// The number of a user's device, by its id; nil if the device belongs to another user.
  func number(of device: String, user: String) throws -> Int64?

  /// The user's device with a session in place `limit`, ordered by the last seen first; nil if there are fewer.
  func leastRecent(of user: String, whereAtLeast limit: Int) throws -> Int64?

  /// The time up to which the JWTs of a device are invalid, by the key that the device has in place of a token (`TokenHash`); nil without
  /// such a device.
  func issuedAfter(of key: TokenHash) throws -> Int64?

  /// Sets or removes the device's push token. Another device loses the same token.
  func setPushToken(_ token: PushToken?, of number: Int64) throws

  /// Removes push tokens, of any devices.
  func removePushTokens(_ tokens: [String]) throws

  /// Sets the device's one ticket for an event stream.
  ///
  /// - Parameter end: when it expires, in milliseconds since 1970.
  func setTicket(_ ticket: TokenHash, until end: Int64, of number: Int64) throws

  /// Removes a ticket.
  ///
  /// - Returns: the token of its device; nil if there is no such ticket, or it has expired.
  func takeTicket(_ ticket: TokenHash, at now: Int64) throws -> TokenHash?

  /// Invalidates the device's token, or all JWTs issued for the device until now: it has no token but these. Removes the push token and the
  /// ticket.
  func revoke(_ number: Int64, at now: Int64) throws

  /// Deletes the tokens, tickets, push tokens, names and client versions of devices permanently.
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
  /// Whether the server has stored a request of this session.
  package let isUsed: Bool
  /// The device's latest applied change sets.
  package let applied: AppliedChangeSets

  package init(number: Int64, isUsed: Bool, applied: AppliedChangeSets) {
    (self.number, self.isUsed, self.applied) = (number, isUsed, applied)
  }
}

/// A device to add.
package struct NewDevice {
  package let id: String
  package let user: String
  package let name: String
  package let token: TokenHash
  package let clock: Stamp
  /// The time of the clock, in milliseconds since 1970.
  package let seenAt: Int64
  /// For a service token: its stored scope.
  package var scope: String?
  /// For the device of a JWT: JWTs issued at or before this time are invalid.
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

/// The accounts. An account that is being or has been erased keeps only its id.
package protocol AccountTable: AnyObject {
  /// The id of the account with a name, or nil.
  func id(ofName name: String) throws -> String?

  /// The name and the stored password of an account, or nil.
  func account(_ id: String) throws -> (name: String, password: String)?

  /// The name of an account, or nil.
  func name(ofID id: String) throws -> String?

  /// Whether an account with this id exists or existed.
  func isKnown(_ id: String) throws -> Bool

  /// Adds an account.
  ///
  /// - Parameter password: the password's hash; empty for a user of an identity provider.
  func add(_ id: String, name: String, password: String, at now: Stamp) throws

  /// Gives an account another name, which is free.
  func setName(_ name: String, of id: String) throws

  /// Replaces the stored password.
  func setPassword(_ password: String, of id: String) throws

  /// The user of an identity, or nil.
  func user(of identity: Identity) throws -> String?

  /// Assigns an identity to a user.
  func add(_ identity: Identity, of user: String) throws

  /// Deletes an account's name, password and identities, and marks the account as being erased.
  func beginErasure(of id: String) throws
}

/// The stored state of an account's erasure: docs/EXPORT-AND-ERASURE.md, section 2.
package enum Erasure: Int64 {
  case none = 0
  case begun = 1
  case done = 2

  /// The replacement of an erased name. It differs from every valid name, and is unique per account.
  package static func name(of id: String) -> String { "(erased) \(id)" }
}
