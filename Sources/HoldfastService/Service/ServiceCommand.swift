package import HoldfastCore

/// One thing to write. Everything in it was read and checked as far as that is possible without the database.
package enum ServiceCommand: Sendable {
  case sync(SyncCommand)
  case rest(RestCommand)
  case signUp(SignUp)
  case signIn(SignIn)
  case copyDevice(DeviceKey, name: String, token: TokenHash)
  /// Makes the token of one of the user's devices invalid, by the device's id.
  case revoke(DeviceKey, device: String)
  /// Makes the tokens of the user's other devices invalid.
  case revokeOthers(DeviceKey)
  case signOut(DeviceKey)
  case changePassword(PasswordChange)
  /// Begins to erase the sender's user, who gave the right password.
  ///
  /// `password` is the stored hash that it was verified against; empty for who has none.
  case erase(DeviceKey, password: String)
  /// A user of an identity provider signs in, or is seen for the first time.
  case signInByProvider(ProviderSignIn)
  /// Makes an invitation, with the hash of its token.
  case invite(DeviceKey, Invitation, TokenHash)
  case revokeInvitation(DeviceKey, id: String, zone: String)
  case accept(DeviceKey, TokenHash)
  /// What a user says of the own memberships.
  case membership(DeviceKey, MembershipChange)
  /// Keeps the ids of a result.
  case keepResult(KeptResult)
  /// The team's program was told of zones.
  case notified([NotifiedZone])
  /// Purges what a pass found.
  case purge(Purgeable, RetentionTerms)
  /// Goes on with the time by which ages are judged; the operator may say that the clock is right.
  case keepTime(isTrusted: Bool)
  /// Writes something of no meaning, to see whether writing works.
  case probe
}

/// What became of a command.
package enum Outcome: Sendable, Equatable {
  case done
  /// What could not be taken of what a device recovers; nil when none of it was looked at.
  case synced(refusedRecoveries: [RefusedRecovery]?)
  case session(NewSession)
  /// The sender is a member of a zone, and was not one unless `isNew`.
  case membership(Membership, isNew: Bool)
  /// How a request of REST is answered, and whether it was so before.
  case rest(RestAnswer, isReplay: Bool)
  /// A part of a request is done; the rest is for another transaction, behind those who wait.
  case unfinished(RestProgress)
  case purged(Purged)
  case time(TimeStep)
}

/// Who belongs to a zone, as the record says it.
package struct Membership: Sendable, Equatable {
  package let id: String
  package let zone: String
  package let user: String
  package let name: String
  package let role: Role
}

/// A device that has just been given a token.
package struct NewSession: Sendable, Equatable {
  package let user: String
  package let userName: String
  package let device: String
  package let deviceName: String
  /// Counts the sessions of the device, from 1.
  package let number: Int64
  /// Of a device that is a copy: the last change sets of the one that it is a copy of.
  package var applied: AppliedChangeSets?
}

/// A device as its token named it. The writer looks again, so that a token that died meanwhile writes nothing.
package struct DeviceKey: Sendable, Equatable {
  package let number: Int64
  /// The id of its user.
  package let user: String
  package let token: TokenHash
  /// What the token is good for.
  package var use = TokenUse.session

  package init(number: Int64, user: String, token: TokenHash, use: TokenUse = TokenUse.session) {
    (self.number, self.user, self.token, self.use) = (number, user, token, use)
  }
}

/// A new account with its first device.
package struct SignUp: Sendable {
  package let name: String
  /// The password's hash, as it is stored.
  package let password: String
  package let device: String
  package let token: TokenHash

  package init(name: String, password: String, device: String, token: TokenHash) {
    (self.name, self.password, self.device, self.token) = (name, password, device, token)
  }
}

/// Another password for a user who gave the right one.
package struct PasswordChange: Sendable {
  package let key: DeviceKey
  /// The stored hash that the old password was verified against.
  package let old: String
  /// The new one's hash.
  package let new: String
  /// Whether the user's other sessions go on.
  package let keepsSessions: Bool

  package init(key: DeviceKey, old: String, new: String, keepsSessions: Bool) {
    (self.key, self.old, self.new, self.keepsSessions) = (key, old, new, keepsSessions)
  }
}

/// A user whom an identity provider vouches for.
package struct ProviderSignIn: Sendable {
  package let identity: Identity
  /// What the user is to be called, if nobody has the name.
  package let name: String
  /// The id of a device to continue, or nil for a new one.
  package let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash
  /// Whether the token is that of a device which JWTs stand for.
  package let isForTokens: Bool

  package init(
    identity: Identity, name: String, device: String?, session: Int64?, deviceName: String, token: TokenHash,
    isForTokens: Bool
  ) {
    (self.identity, self.name, self.device, self.session, self.deviceName, self.token, self.isForTokens) = (
      identity, name, device, session, deviceName, token, isForTokens
    )
  }
}

/// A user who gave the right password.
package struct SignIn: Sendable {
  package let user: String
  /// The stored hash that the password was verified against.
  package let password: String
  /// The id of a device to continue, or nil for a new one.
  package let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash

  package init(
    user: String, password: String, device: String?, session: Int64?, deviceName: String, token: TokenHash
  ) {
    (self.user, self.password, self.device, self.session, self.deviceName, self.token) = (
      user, password, device, session, deviceName, token
    )
  }
}

extension ServiceCommand {
  /// What is left of a command of which a part is done.
  package func goingOn(from progress: RestProgress) -> ServiceCommand {
    switch self {
    case .rest(let command): return .rest(command.goingOn(from: progress))
    case .sync(var command):
      command.isCut = progress.isCut
      return .sync(command)
    default: return self
    }
  }

  /// Whether a part of it was done. It takes long, so it shares no transaction with those before it.
  var isBegun: Bool {
    switch self {
    case .rest(let command): command.progress != RestProgress()
    case .sync(let command): command.isCut
    default: false
    }
  }

  /// The device that gave the command, where it has one.
  package var key: DeviceKey? {
    switch self {
    case .sync(let command): command.key
    case .rest(let command): command.key
    case .changePassword(let change): change.key
    case .copyDevice(let key, _, _), .signOut(let key), .revoke(let key, _), .revokeOthers(let key),
      .erase(let key, _), .invite(let key, _, _), .revokeInvitation(let key, _, _), .accept(let key, _),
      .membership(let key, _):
      key
    case .signUp, .signIn, .signInByProvider, .keepResult, .notified, .purge, .keepTime, .probe: nil
    }
  }
}
