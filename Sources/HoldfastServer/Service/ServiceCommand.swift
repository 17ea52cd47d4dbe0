import HoldfastCore

/// One thing to write. Everything in it was read and checked as far as that is possible without the database.
enum ServiceCommand: Sendable {
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
enum Outcome: Sendable, Equatable {
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
struct Membership: Sendable, Equatable {
  let id: String
  let zone: String
  let user: String
  let name: String
  let role: Role
}

/// A device that has just been given a token.
struct NewSession: Sendable, Equatable {
  let user: String
  let userName: String
  let device: String
  let deviceName: String
  /// Counts the sessions of the device, from 1.
  let number: Int64
  /// Of a device that is a copy: the last change sets of the one that it is a copy of.
  var applied: AppliedChangeSets?
}

/// A device as its token named it. The writer looks again, so that a token that died meanwhile writes nothing.
struct DeviceKey: Sendable, Equatable {
  let number: Int64
  /// The id of its user.
  let user: String
  let token: TokenHash
  /// What the token is good for.
  var use = TokenUse.session
}

/// A new account with its first device.
struct SignUp: Sendable {
  let name: String
  /// The password's hash, as it is stored.
  let password: String
  let device: String
  let token: TokenHash
}

/// Another password for a user who gave the right one.
struct PasswordChange: Sendable {
  let key: DeviceKey
  /// The stored hash that the old password was verified against.
  let old: String
  /// The new one's hash.
  let new: String
  /// Whether the user's other sessions go on.
  let keepsSessions: Bool
}

/// A user whom an identity provider vouches for.
struct ProviderSignIn: Sendable {
  let identity: Identity
  /// What the user is to be called, if nobody has the name.
  let name: String
  /// The id of a device to continue, or nil for a new one.
  let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
  let session: Int64?
  let deviceName: String
  let token: TokenHash
  /// Whether the token is that of a device which JWTs stand for.
  let isForTokens: Bool
}

/// A user who gave the right password.
struct SignIn: Sendable {
  let user: String
  /// The stored hash that the password was verified against.
  let password: String
  /// The id of a device to continue, or nil for a new one.
  let device: String?
  /// Which of the device's sessions the sender had last; nil when it does not say.
  let session: Int64?
  let deviceName: String
  let token: TokenHash
}

extension ServiceCommand {
  /// What is left of a command of which a part is done.
  func goingOn(from progress: RestProgress) -> ServiceCommand {
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
  var key: DeviceKey? {
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
