import HoldfastCore
import HoldfastSQLite

extension Service {
  /// Makes an account, its private zone and its first device.
  ///
  /// - Throws: `Problem.nameTaken` before anything is written.
  func signUp(_ signUp: SignUp, at now: Stamp) throws -> Session {
    if try stores.user(named: signUp.name) != nil { throw Problem(.nameTaken) }
    let user = stores.newID(at: now)
    try connection.run(
      "INSERT INTO holdfast_accounts (id, name, password, created_at) VALUES (?, ?, ?, ?)",
      [.text(user), .text(signUp.name), .text(signUp.password), .integer(now.milliseconds)])
    try stores.ledger.create(user)
    let author = Author(device: 0, user: user, clock: now)
    try stores.addMember(user, named: signUp.name, role: .owner, to: user, by: author)
    return try addDevice(to: user, named: signUp.device, token: signUp.token, at: now)
  }

  /// Signs a user in, on a new device or on one that the user already had.
  func signIn(_ signIn: SignIn, at now: Stamp) throws -> Session {
    let row = try connection.row(
      "SELECT name, password FROM holdfast_accounts WHERE id = ?", [.text(signIn.user)])
    guard let name = row?[0].text, row?[1].text == signIn.password else { throw Problem(.credentialsWrong) }
    guard let device = signIn.device, let session = try nextSession(of: device, signIn) else {
      return try addDevice(to: signIn.user, named: signIn.deviceName, token: signIn.token, at: now)
    }
    moves.users.insert(signIn.user)
    try connection.run(
      "UPDATE holdfast_devices SET token_hash = ?, name = ?, seen_at = ?, session = ?, session_used = 0 WHERE id = ?",
      [
        .blob(signIn.token.withBytes { Array($0) }), .text(signIn.deviceName), .integer(now.milliseconds),
        .integer(session), .text(device),
      ])
    return Session(
      user: signIn.user, userName: name, device: device, deviceName: signIn.deviceName, number: session)
  }

  /// The number of a device's next session; nil when the sender can't go on as this device: it is not the user's, or another one has
  /// had a session as this device since, which makes the sender a copy.
  private func nextSession(of device: String, _ signIn: SignIn) throws -> Int64? {
    let row = try connection.row(
      "SELECT session, session_used FROM holdfast_devices WHERE id = ? AND user = ?",
      [.text(device), .text(signIn.user)])
    guard let last = row?[0].integer else { return nil }
    // The answer of a session that was never used was lost on the way.
    let known = row?[1].integer == 1 ? [last] : [last, last - 1]
    return signIn.session.map { known.contains($0) } ?? true ? last + 1 : nil
  }

  /// Gives a user one more device.
  func addDevice(to user: String, named name: String, token: TokenHash, at now: Stamp) throws -> Session {
    let id = stores.newID(at: now)
    try connection.run(
      "INSERT INTO holdfast_devices (id, user, name, token_hash, clock, seen_at) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .text(id), .text(user), .text(name), .blob(token.withBytes { Array($0) }), .integer(now.rawValue),
        .integer(now.milliseconds),
      ])
    return Session(
      user: user, userName: try stores.name(ofUser: user) ?? "", device: id, deviceName: name, number: 1)
  }
}
