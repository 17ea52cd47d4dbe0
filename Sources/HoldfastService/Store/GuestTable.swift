/// The stored guests, and what the directory of the databases has to be told: docs/DIRECTORY.md.
package protocol GuestTable: AnyObject {
  /// The home of a guest; nil for a user whose home this database is.
  func home(of user: String) throws -> String?

  /// Makes an account that was just added a guest's.
  func add(_ user: String, home: String) throws

  /// Stores what the session of a guest's device depends on.
  func setSession(_ session: GuestSession, of device: Int64) throws

  /// What the session of a guest's device depends on; nil for other devices.
  func session(of device: Int64) throws -> GuestSession?

  /// The devices whose sessions depend on a device of the home.
  func devices(dependingOn homeDevice: String) throws -> [Int64]

  /// Removes what the session of a guest's device depended on, when it has ended.
  func dropSession(of device: Int64) throws

  /// Notes that passes are made for the session that a device has now. From then on its end is told.
  func notePass(of device: Int64) throws

  /// Notes that the directory has been told of the ends of sessions, and of erasures.
  func setTold(_ ended: [EndedSession], erased: [String]) throws

  /// The name of this database in its directory; nil if it has not joined one.
  func databaseName() throws -> String?

  /// Stores the name of this database in its directory.
  func setDatabaseName(_ name: String) throws
}

/// Reads what the directory of the databases is about.
package protocol GuestReader {
  /// The home of a guest; nil for a user whose home this database is, and without a directory.
  func home(ofGuest user: String) throws -> String?

  /// The user of an identity; nil if this database does not know it.
  func user(of identity: Identity) throws -> String?

  /// Whether an account with this id exists or existed.
  func hasAccount(_ user: String) throws -> Bool

  /// The name of this database in its directory; nil if it has not joined one.
  func databaseName() throws -> String?

  /// What the directory has to be told, and the guests' sessions that have lasted their time: at most `limit` of each.
  func directoryWork(at now: Int64, limit: Int) throws -> DirectoryWork

  /// Accounts of a kind, in the order of their ids, behind `id`.
  func accounts(_ kind: AccountKind, after id: String, limit: Int) throws -> [Resident]
}

/// What the accounts of a database are to its directory.
package enum AccountKind: Sendable {
  /// Users whose home the database is.
  case residents
  /// Users whose home the database was, and who are erased.
  case erased
  /// Users of other homes.
  case guests
}

/// What the session of a guest's device depends on.
package struct GuestSession: Sendable, Equatable {
  /// The id of the device in the home whose session made the last pass.
  package let homeDevice: String
  /// When the session ends unless another pass is shown, in milliseconds since 1970.
  package let endsAt: Int64

  package init(homeDevice: String, endsAt: Int64) {
    (self.homeDevice, self.endsAt) = (homeDevice, endsAt)
  }
}

/// A session for which passes were made, and which has ended.
package struct EndedSession: Sendable, Equatable {
  /// The id of the device.
  package let device: String
  package let user: String
  /// The number of the session.
  package let session: Int64

  package init(device: String, user: String, session: Int64) {
    (self.device, self.user, self.session) = (device, user, session)
  }
}

/// What is to be done for the directory.
package struct DirectoryWork: Sendable, Equatable {
  package var ended: [EndedSession] = []
  /// The ids of users who are erased.
  package var erased: [String] = []
  /// The numbers of guests' devices whose sessions have lasted their time.
  package var expired: [Int64] = []

  package init() {}
}

/// An account, of a user whose home is this database unless it says otherwise.
package struct Resident: Sendable, Equatable {
  package let id: String
  package let name: String
  /// Who it is for the identity provider; nil for a user with a password.
  package let identity: Identity?

  package init(id: String, name: String, identity: Identity? = nil) {
    (self.id, self.name, self.identity) = (id, name, identity)
  }
}
