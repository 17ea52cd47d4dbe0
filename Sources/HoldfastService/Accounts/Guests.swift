package import HoldfastCore

/// Begins a session of a guest, who has shown a pass.
package struct GuestSignIn: Sendable {
  package let user: String
  package let name: String
  /// The name of the user's home.
  package let home: String
  /// The id of the device in the home whose session made the pass.
  package let homeDevice: String
  /// How long the session lasts unless another pass is shown.
  package let length: Duration
  /// The id of the device to continue, or nil for a new one.
  package let device: String?
  /// The number of the device's last session on the sender; nil if not stated.
  package let session: Int64?
  package let deviceName: String
  package let token: TokenHash

  package init(
    user: String, name: String, home: String, homeDevice: String, length: Duration, device: String?,
    session: Int64?, deviceName: String, token: TokenHash
  ) {
    (self.user, self.name, self.home, self.homeDevice, self.length) = (user, name, home, homeDevice, length)
    (self.device, self.session, self.deviceName, self.token) = (device, session, deviceName, token)
  }
}

/// A user of another home, who is to be known here.
package struct NewGuest: Sendable, Equatable {
  package let id: String
  package let name: String
  package let home: String

  package init(id: String, name: String, home: String) { (self.id, self.name, self.home) = (id, name, home) }
}

/// Accounts of users whose home is another database: docs/DIRECTORY.md.
package struct Guests {
  package let work: UnitOfWork

  package init(_ work: UnitOfWork) { self.work = work }

  /// Requires that this database is the user's home.
  ///
  /// - Throws: `Problem.notAtHome`.
  package func requireHome(of user: String) throws {
    guard work.environment.limits.mayHaveGuests, let home = try work.store.guests.home(of: user) else {
      return
    }
    throw Problem(.notAtHome, "The home is the database \(home).")
  }

  /// Notes that a pass is made for the sender's session.
  ///
  /// - Returns: the id of the device.
  func notePass(by key: DeviceKey) throws -> String {
    let device = try work.device(key)
    try requireHome(of: device.user)
    try work.store.guests.notePass(of: key.number)
    return device.id
  }

  /// Begins a session, and makes the account at the first one.
  ///
  /// - Throws: `Problem.passInvalid` if the user is erased, or has another home.
  func signIn(_ signIn: GuestSignIn, at now: Stamp) throws -> NewSession {
    let (accounts, guests) = (work.store.accounts, work.store.guests)
    try add(NewGuest(id: signIn.user, name: signIn.name, home: signIn.home), at: now)
    guard try guests.home(of: signIn.user) == signIn.home, try accounts.name(ofID: signIn.user) != nil else {
      throw Problem(.passInvalid)
    }
    let session = try Accounts(work).beginSession(
      SignIn(
        user: signIn.user, password: "", device: signIn.device, session: signIn.session,
        deviceName: signIn.deviceName, token: signIn.token),
      userName: signIn.name, at: now)
    guard let number = try work.store.devices.number(of: session.device, user: signIn.user) else {
      throw Problem(.internalError)
    }
    let end = work.clock.trusted.written().addingClamped(signIn.length)
    try guests.setSession(GuestSession(homeDevice: signIn.homeDevice, endsAt: end), of: number)
    return session
  }

  /// Makes the accounts of users with whom somebody shares. A name that cannot be had here is left out: nobody has it then.
  package func add(_ guests: [NewGuest], at now: Stamp) throws {
    for guest in guests {
      do { try add(guest, at: now) } catch let problem as Problem where problem.code == .nameTaken {}
    }
  }

  /// Makes the account of a guest, unless it is there or was.
  private func add(_ guest: NewGuest, at now: Stamp) throws {
    if try work.store.accounts.isKnown(guest.id) { return }
    try makeRoom(for: guest.name)
    try work.store.accounts.add(guest.id, name: guest.name, password: "", at: now)
    try work.store.guests.add(guest.id, home: guest.home)
  }

  /// Frees a name that the directory has given to another user. A guest who had it before was erased at the home, and is not erased here yet. The
  /// guest gets a name that nobody can sign up with.
  ///
  /// - Throws: `Problem.nameTaken` if a user of this home has it.
  func makeRoom(for name: String) throws {
    guard let older = try work.store.accounts.id(ofName: name) else { return }
    if try work.store.guests.home(of: older) == nil { throw Problem(.nameTaken) }
    try work.store.accounts.setName("(former) \(older)", of: older)
  }

  /// Has the session of a copied device depend on what that of the original depends on.
  func copySession(from original: Int64, to session: NewSession) throws {
    guard work.environment.limits.mayHaveGuests,
      let known = try work.store.guests.session(of: original),
      let number = try work.store.devices.number(of: session.device, user: session.user)
    else { return }
    try work.store.guests.setSession(known, of: number)
  }
}
