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

extension ServiceCommand {
  /// What the command will probably touch.
  package func footprint(_ schema: SyncSchema) -> Footprint {
    switch self {
    case .sync(let command): command.footprint(schema)
    case .rest(let command): command.footprint(schema)
    case .purge(.tombstones(let zone), _): Footprint(zones: [zone])
    case .purge(.conflicts(let conflicts), _):
      Footprint(
        records: conflicts.map {
          Footprint.Key(table: schema.index(of: TableSchema.conflicts.name) ?? 0, id: $0.id)
        }, zones: TextSet(conflicts.map(\.zone)).sorted())
    case .purge(.departure(let user, let zone), _): Footprint(user: user, zones: [zone])
    case .purge(.erasedRecords(let user, let zone, let records), _):
      Footprint(user: user, records: records, zones: [zone])
    case .copyDevice, .signOut, .revoke, .revokeOthers, .changePassword, .erase, .signUp, .signIn,
      .signInByProvider,
      .accept, .keepResult, .notified, .purge, .keepTime,
      .probe:
      Footprint(device: key)
    case .membership(let key, let change): change.footprint(key, schema)
    case .invite(_, let invitation, _): Footprint(device: key, user: key?.user, zones: [invitation.zone])
    case .revokeInvitation(_, _, let zone): Footprint(device: key, user: key?.user, zones: [zone])
    }
  }
}
