package import HoldfastCore

/// Accounts, their devices and sessions: docs/IDENTITY.md.
package struct Accounts {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Creates an account, its private zone and its first device.
  ///
  /// - Throws: `Problem.nameTaken`, or `busy` for a claim that may have been removed, before anything is written.
  package func signUp(_ signUp: SignUp, at now: Stamp) throws -> NewSession {
    if let claim = signUp.claim {
      try take(claim, of: signUp.name)
    } else if try work.store.accounts.id(ofName: signUp.name) != nil {
      throw Problem(.nameTaken)
    }
    let user = try addUser(signUp.claim?.user, named: signUp.name, password: signUp.password, at: now)
    return try addDevice(to: user, named: signUp.device, token: signUp.token, at: now)
  }

  /// Makes room for a new user with a name that the directory has.
  private func take(_ claim: AccountClaim, of name: String) throws {
    let age = work.environment.now() - claim.at
    if age > AccountClaim.life.wholeMilliseconds { throw Problem(.busy, retryAfter: 1) }
    // The claim is that of an account whose erasure the directory does not know yet.
    if try work.store.accounts.isKnown(claim.user) { throw Problem(.nameTaken) }
    try Guests(work).makeRoom(for: name)
  }

  /// Creates an account with a private zone.
  ///
  /// - Parameter id: its id; nil for a new one.
  private func addUser(
    _ id: String? = nil, named name: String, password: String, at now: Stamp
  ) throws -> String {
    if id == nil, try work.store.guests.databaseName() != nil {
      // The server has not heard of it: it started before.
      throw Problem(
        .directoryUnavailable,
        "The database has joined a directory since this server started: start it again.")
    }
    let user = id ?? work.stores.newID(at: now)
    try work.store.accounts.add(user, name: name, password: password, at: now)
    try work.stores.ledger.create(user)
    try work.stores.addMember(
      user, named: name, role: .owner, to: user, by: Author(device: 0, user: user, clock: now))
    return user
  }

  /// Signs a user in, on a new device or on an existing one.
  package func signIn(_ signIn: SignIn, at now: Stamp) throws -> NewSession {
    guard let account = try work.store.accounts.account(signIn.user), account.password == signIn.password
    else {
      throw Problem(.credentialsWrong)
    }
    return try beginSession(signIn, userName: account.name, at: now)
  }

  /// Begins a session of a user whose right to it was checked.
  func beginSession(_ signIn: SignIn, userName: String, at now: Stamp) throws -> NewSession {
    let last = try signIn.device.flatMap { try work.store.devices.session(of: $0, user: signIn.user) }
    guard let device = signIn.device, let last, let session = number(behind: last, signIn) else {
      var session = try addDevice(to: signIn.user, named: signIn.deviceName, token: signIn.token, at: now)
      session.applied = last?.applied
      return session
    }
    work.changes.users.insert(signIn.user)
    try work.stores.devices.beginSession(
      session, of: device, name: signIn.deviceName, token: signIn.token,
      at: work.clock.trusted.written())
    return NewSession(
      user: signIn.user, userName: userName, device: device, deviceName: signIn.deviceName,
      number: session)
  }

  // MARK: Identity providers

  /// Creates the device that stands for the JWTs of an identity at a client, unless it exists. The first JWT creates the account.
  package func introduce(_ proven: ProvenIdentity, at now: Stamp) throws {
    let user = try user(of: proven, at: now)
    if try work.store.devices.issuedAfter(of: proven.deviceKey) == nil {
      _ = try addDevice(
        to: user, named: proven.client, token: proven.deviceKey, issuedAfter: -1, at: now)
    }
  }

  /// Signs in a user of an identity provider. The first sign-in creates the account.
  ///
  /// - Throws: `Problem.tokenInvalid` if the JWT is revoked.
  package func signIn(_ signIn: ProviderSignIn, at now: Stamp) throws -> NewSession {
    let proven = signIn.proven
    // Without a device, nobody has revoked JWTs of this client.
    if let issuedAfter = try work.store.devices.issuedAfter(of: proven.deviceKey),
      !TokenUse.provider(issuedAt: proven.issuedAt).isTaken(after: issuedAfter)
    {
      throw Problem(.tokenInvalid, "The JWT was issued before its device was revoked.")
    }
    let user = try user(of: proven, at: now)
    guard let name = try work.store.accounts.name(ofID: user) else { throw Problem(.tokenInvalid) }
    return try beginSession(
      SignIn(
        user: user, password: "", device: signIn.device, session: signIn.session,
        deviceName: signIn.deviceName, token: signIn.token),
      userName: name, at: now)
  }

  private func user(of proven: ProvenIdentity, at now: Stamp) throws -> String {
    if let known = try work.store.accounts.user(of: proven.identity) { return known }
    var (name, taken) = (proven.name, 0)
    if let claim = proven.claim {
      try take(claim, of: name)
    } else {
      while try work.store.accounts.id(ofName: name) != nil {
        taken += 1
        name = proven.name(after: taken, random: work.environment.random)
      }
    }
    let user = try addUser(proven.claim?.user, named: name, password: "", at: now)
    try work.store.accounts.add(proven.identity, of: user)
    return user
  }

  // MARK: Passwords and tokens

  /// Stores a new password. Ends the user's other sessions unless they are kept.
  package func changePassword(_ change: PasswordChange) throws {
    let user = try work.device(change.key).user
    try Guests(work).requireHome(of: user)
    guard try work.store.accounts.account(user)?.password == change.old else {
      throw Problem(.credentialsWrong)
    }
    try work.store.accounts.setPassword(change.new, of: user)
    if !change.keepsSessions { try revokeOthers(of: user, but: change.key.number) }
  }

  /// Creates a new device for a copy of a user's device.
  func copyDevice(_ key: DeviceKey, name: String, token: TokenHash, at now: Stamp) throws -> NewSession {
    let original = try work.device(key)
    var session = try addDevice(to: original.user, named: name, token: token, at: now)
    session.applied = original.applied
    try Guests(work).copySession(from: key.number, to: session)
    return session
  }

  func signOut(_ key: DeviceKey) throws {
    _ = try work.device(key)
    try revoke(key.number)
  }

  /// Sets or removes the sender's push token.
  func setPushToken(_ token: PushToken?, by key: DeviceKey) throws {
    _ = try work.device(key)
    try work.store.devices.setPushToken(token, of: key.number)
  }

  /// How long a ticket is valid.
  package static let ticketLifetime = Duration.seconds(60)

  /// Stores the sender's ticket, which replaces an earlier one: a device has one event stream.
  func makeTicket(_ ticket: TokenHash, by key: DeviceKey) throws {
    _ = try work.device(key)
    let end = work.environment.now() + Self.ticketLifetime.wholeMilliseconds
    try work.store.devices.setTicket(ticket, until: end, of: key.number)
  }

  /// Spends a ticket.
  ///
  /// - Returns: the token of its device.
  /// - Throws: `Problem.ticketInvalid` if it was spent or replaced, has expired, or its session has ended.
  func takeTicket(_ ticket: TokenHash) throws -> TokenHash {
    guard let token = try work.store.devices.takeTicket(ticket, at: work.environment.now()) else {
      throw Problem(.ticketInvalid)
    }
    return token
  }

  /// Revokes the token of a user's device.
  ///
  /// - Throws: `Problem.notFound` if the user has no such device.
  package func revoke(_ id: String, by key: DeviceKey) throws {
    let user = try work.device(key).user
    guard let number = try work.store.devices.number(of: id, user: user) else { throw Problem(.notFound) }
    try revoke(number)
  }

  /// Revokes the tokens of the sender's other devices.
  func revokeOthers(by key: DeviceKey) throws {
    try revokeOthers(of: work.device(key).user, but: key.number)
  }

  /// Revokes the tokens of a user's devices, except one.
  package func revokeOthers(of user: String, but number: Int64?) throws {
    for device in try work.store.devices.devices(of: user) where device.hasToken && device.number != number {
      try revoke(device.number)
    }
  }

  package func revoke(_ number: Int64) throws {
    // Not by a clock that has jumped ahead: its user's JWTs would be refused until that time.
    let now = min(work.environment.now(), work.clock.trusted.now())
    try work.stores.devices.revoke(number, at: now)
    work.changes.devices.insert(number)
  }

  /// The number of the device's next session. Nil if another installation has had a session of this device since: the sender is then a
  /// copy.
  private func number(behind last: LastSession, _ signIn: SignIn) -> Int64? {
    // If the last session was never used, its answer may have been lost.
    let known = last.isUsed ? [last.number] : [last.number, last.number - 1]
    return signIn.session.map { known.contains($0) } ?? true ? last.number + 1 : nil
  }

  /// Adds a device to a user.
  ///
  /// - Parameter issuedAfter: for a device with JWTs: JWTs issued at or before this time are invalid.
  /// - Throws: `Problem.tokenInvalid` if the user is being erased.
  package func addDevice(
    to user: String, named name: String, token: TokenHash, issuedAfter: Int64? = nil, at now: Stamp
  ) throws -> NewSession {
    guard let userName = try work.store.accounts.name(ofID: user) else { throw Problem(.tokenInvalid) }
    // At the limit, the least recently seen device is signed out. Devices in use were seen more recently.
    if issuedAfter == nil,
      let last = try work.store.devices.leastRecent(of: user, whereAtLeast: work.stores.limits.devices)
    {
      try revoke(last)
    }
    let id = work.stores.newID(at: now)
    try work.store.devices.add(
      NewDevice(
        id: id, user: user, name: name, token: token, clock: now, seenAt: work.clock.trusted.written(),
        issuedAfter: issuedAfter))
    return NewSession(user: user, userName: userName, device: id, deviceName: name, number: 1)
  }
}
