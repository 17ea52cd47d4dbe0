import HoldfastCore

extension Service {
  /// Makes an account, its private zone and its first device.
  ///
  /// - Throws: `Problem.nameTaken` before anything is written.
  func signUp(_ signUp: SignUp, at now: Stamp) throws -> Session {
    if try store.accounts.id(ofName: signUp.name) != nil { throw Problem(.nameTaken) }
    let user = stores.newID(at: now)
    try store.accounts.add(user, name: signUp.name, password: signUp.password, at: now)
    try stores.ledger.create(user)
    let author = Author(device: 0, user: user, clock: now)
    try stores.addMember(user, named: signUp.name, role: .owner, to: user, by: author)
    return try addDevice(to: user, named: signUp.device, token: signUp.token, at: now)
  }

  /// Signs a user in, on a new device or on one that the user already had.
  func signIn(_ signIn: SignIn, at now: Stamp) throws -> Session {
    guard let account = try store.accounts.account(signIn.user), account.password == signIn.password else {
      throw Problem(.credentialsWrong)
    }
    let last = try signIn.device.flatMap { try store.devices.session(of: $0, user: signIn.user) }
    guard let device = signIn.device, let last, let session = number(behind: last, signIn) else {
      var session = try addDevice(to: signIn.user, named: signIn.deviceName, token: signIn.token, at: now)
      session.applied = last?.applied
      return session
    }
    moves.users.insert(signIn.user)
    try store.devices.beginSession(
      session, of: device, name: signIn.deviceName, token: signIn.token, at: now)
    return Session(
      user: signIn.user, userName: account.name, device: device, deviceName: signIn.deviceName,
      number: session)
  }

  /// The number of a device's next session; nil when the sender can't go on as this device: another one has had a session as this device
  /// since, which makes the sender a copy.
  private func number(behind last: LastSession, _ signIn: SignIn) -> Int64? {
    // The answer of a session that was never used was lost on the way.
    let known = last.isUsed ? [last.number] : [last.number, last.number - 1]
    return signIn.session.map { known.contains($0) } ?? true ? last.number + 1 : nil
  }

  /// Gives a user one more device.
  func addDevice(to user: String, named name: String, token: TokenHash, at now: Stamp) throws -> Session {
    let id = stores.newID(at: now)
    try store.devices.add(NewDevice(id: id, user: user, name: name, token: token, clock: now))
    return Session(
      user: user, userName: try store.accounts.name(ofID: user) ?? "", device: id, deviceName: name, number: 1
    )
  }
}
