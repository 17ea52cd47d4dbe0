package import HoldfastCore

/// One command for the writer. Everything in it is parsed, and checked as far as possible without the database.
package enum ServiceCommand: Sendable {
  /// Indirect, as both are large, and a command is copied from queue to queue.
  indirect case sync(SyncCommand)
  indirect case rest(RestCommand)
  case signUp(SignUp)
  case signIn(SignIn)
  case copyDevice(DeviceKey, name: String, token: TokenHash)
  /// Revokes the token of one of the user's devices, by the device's id.
  case revoke(DeviceKey, device: String)
  /// Revokes the tokens of the user's other devices.
  case revokeOthers(DeviceKey)
  case signOut(DeviceKey)
  /// Sets or removes the device's push token.
  case setPushToken(DeviceKey, PushToken?)
  /// Stores the device's ticket for an event stream, under its hash.
  case makeTicket(DeviceKey, TokenHash)
  /// Takes a ticket, which is then spent.
  case takeTicket(TokenHash)
  case changePassword(PasswordChange)
  /// Begins to erase the sender's user, after the password was verified.
  ///
  /// `password` is the stored hash that it was verified against; empty for a user without a password.
  case erase(DeviceKey, password: String)
  /// Signs in a user of an identity provider. Creates the account at the first sign-in.
  case signInByProvider(ProviderSignIn)
  /// Creates the device of a client's JWTs, and the account for the first one.
  case introduce(ProvenIdentity)
  /// Notes that a pass is made for the sender's session.
  case notePass(DeviceKey)
  /// Begins a session of a guest. Creates the account at the first one.
  indirect case signInAsGuest(GuestSignIn)
  /// Makes accounts of users with whom somebody shares.
  case addGuests([NewGuest])
  /// Ends a guest's session that has just begun, as the pass was not good any more.
  case withdrawGuest(NewSession)
  /// Ends sessions of guests, and begins to erase those whom their home has erased.
  case endGuests(GuestEnds)
  /// Notes that the directory has been told.
  case told([EndedSession], erased: [String])
  /// Stores an invitation under the hash of its token.
  case invite(DeviceKey, Invitation, TokenHash)
  case revokeInvitation(DeviceKey, id: String, zone: String)
  case accept(DeviceKey, TokenHash)
  /// A user's change of the own memberships.
  case membership(DeviceKey, MembershipChange)
  /// Stores the ids of a query result.
  case keepResult(KeptResult)
  /// Stores that the webhook was notified of zones. Removes the push tokens that it named as dead.
  case notified([NotifiedZone], gone: [String])
  /// Purges an item that a retention pass found.
  case purge(Purgeable, RetentionTerms)
  /// Stores samples of the console.
  case keepSamples([StoredSample])
  /// Advances the trusted time. An operator may confirm that the clock is right.
  case keepTime(isTrusted: Bool)
  /// Writes a text without meaning, to test whether the database accepts writes.
  case probe
}

extension ServiceCommand {
  /// The rest of a command that is partly done.
  package func goingOn(from progress: RestProgress) -> ServiceCommand {
    switch self {
    case .rest(let command): return .rest(command.goingOn(from: progress))
    case .sync(var command):
      command.progress = progress
      return .sync(command)
    default: return self
    }
  }

  /// Whether the command is partly done. It takes long, so it begins its own transaction.
  var isBegun: Bool {
    switch self {
    case .rest(let command): command.progress != RestProgress()
    case .sync(let command): command.progress != RestProgress()
    default: false
    }
  }

  /// Whether a repeat takes effect again: a REST write without a request id.
  var hasEffectOfEach: Bool { if case .rest(let command) = self { command.request == nil } else { false } }

  /// The names of its users that nobody could look up.
  var unreachable: TextSet {
    switch self {
    case .rest(let command): command.unreachable
    case .sync(let command): command.unreachable
    default: []
    }
  }

  /// The device that sent the command, if any.
  package var key: DeviceKey? {
    switch self {
    case .sync(let command): command.key
    case .rest(let command): command.key
    case .changePassword(let change): change.key
    case .copyDevice(let key, _, _), .signOut(let key), .setPushToken(let key, _),
      .notePass(let key), .makeTicket(let key, _), .revoke(let key, _),
      .revokeOthers(let key),
      .erase(let key, _), .invite(let key, _, _), .revokeInvitation(let key, _, _), .accept(let key, _),
      .membership(let key, _):
      key
    case .takeTicket, .signUp, .signIn, .signInByProvider, .introduce, .signInAsGuest, .addGuests,
      .withdrawGuest,
      .endGuests, .told, .keepResult, .notified, .purge,
      .keepSamples,
      .keepTime,
      .probe:
      nil
    }
  }
}

extension ServiceCommand {
  /// The footprint of the command.
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
    case .purge(.together(let items), let terms):
      items.reduce(into: Footprint()) { $0.add(ServiceCommand.purge($1, terms).footprint(schema)) }
    case .copyDevice, .signOut, .setPushToken, .makeTicket, .takeTicket, .revoke, .revokeOthers,
      .changePassword, .erase, .signUp,
      .signIn,
      .signInByProvider, .introduce, .notePass, .signInAsGuest, .addGuests, .withdrawGuest, .endGuests, .told,
      .accept, .keepResult, .notified, .purge, .keepSamples, .keepTime,
      .probe:
      Footprint(device: key)
    case .membership(let key, let change): change.footprint(key, schema)
    case .invite(_, let invitation, _): Footprint(device: key, user: key?.user, zones: [invitation.zone])
    case .revokeInvitation(_, _, let zone): Footprint(device: key, user: key?.user, zones: [zone])
    }
  }
}
