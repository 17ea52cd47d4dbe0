import HoldfastCore

/// One thing to write. Everything in it was read and checked as far as that is possible without the database.
enum Command: Sendable {
  case sync(SyncCommand)
  case rest(RestCommand)
  case signUp(SignUp)
  case signIn(SignIn)
  case copyDevice(DeviceKey, name: String, token: TokenHash)
  case signOut(DeviceKey)
  /// Keeps the ids of a result.
  case keepResult(KeptResult)
  /// The team's program was told of zones.
  case told([ToldZone])
  /// Forgets what a pass found.
  case forget(Forgettable, ForgettingTerms)
  /// Writes something of no meaning, to see whether writing works.
  case probe
}

/// What became of a command.
enum Outcome: Sendable, Equatable {
  case done
  case session(Session)
  /// How a request of REST is answered, and whether it was so before.
  case rest(RestAnswer, isReplay: Bool)
  case forgot(Forgotten)
}

/// A device that has just been given a token.
struct Session: Sendable, Equatable {
  let user: String
  let userName: String
  let device: String
  let deviceName: String
  /// Counts the sessions of the device, from 1.
  let number: Int64
}

/// A device as its token named it. The writer looks again, so that a token that died meanwhile writes nothing.
struct DeviceKey: Sendable, Equatable {
  let number: Int64
  /// The id of its user.
  let user: String
  let token: TokenHash
}

/// A new account with its first device.
struct SignUp: Sendable {
  let name: String
  /// The password's hash, as it is stored.
  let password: String
  let device: String
  let token: TokenHash
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
