import Foundation
import HoldfastCore
import HoldfastSystem

/// The databases of one directory: docs/DIRECTORY.md. A user has an account in one of them, home. Home's servers say in which others the user is a guest,
/// and give a pass for each, by which this device begins a session there.
extension FolderEngine {
  /// How old a pass gets before another one is asked for. A session ends days after its last pass.
  private static let passAge = Duration.seconds(86_400)
  /// How long home is not asked again where nothing has happened.
  private static let pause = Duration.seconds(900)

  /// Makes an account at home, and signs this device in.
  ///
  /// - Throws: as `SyncEngine.signUp`.
  public func signUp(name: String, password: String, device: String) async throws {
    try await atHome { try await $0.signUp(name: name, password: password, device: device) }
  }

  /// Signs this device in at home, and in the other databases of home's directory in which the user is a guest.
  ///
  /// ```swift
  /// try await engine.signIn(name: "ann", password: password, device: "Ann's phone")
  /// ```
  /// - Throws: as `SyncEngine.signIn`. What keeps another database from being signed in is not thrown: `run()` and `sync()` try again.
  public func signIn(name: String, password: String, device: String) async throws {
    try await atHome { try await $0.signIn(name: name, password: password, device: device) }
  }

  /// The same by the word of an identity provider.
  ///
  /// - Parameter token: a JWT of the provider that home's servers know.
  /// - Throws: as `SyncEngine.signIn`.
  public func signIn(token: String, device: String) async throws {
    try await atHome { try await $0.signIn(token: token, device: device) }
  }

  private func atHome(_ body: (SyncEngine) async throws -> Void) async throws {
    try await body(home())
    try? await findDatabases()
  }

  /// Adds a database of home's directory to this device, and begins a session there as a guest: to accept an invitation of that database.
  ///
  /// ```swift
  /// let zone = try await engine.join("school").accept(invitation: token)
  /// ```
  /// - Returns: the engine of the database.
  /// - Throws: `StoreError.recordMissing` when the directory has no such database, or home none; as `findDatabases()`.
  @discardableResult
  public func join(_ database: String) async throws -> SyncEngine {
    let home = try home()
    guard let found = try await home.directory()?.first(where: { $0.name == database && !$0.isHome }) else {
      throw StoreError(.recordMissing, "Home's directory has no other database \(database).")
    }
    return try await follow(found, home)
  }

  /// Asks home in which other databases the user is a guest. Adds those that are not on this device, and begins sessions where there is none, or where the
  /// last pass is older than a day. `run()` does so at its beginning, every 15 minutes, and when a session has ended; `sync()` does when it is as long ago
  /// or one has ended. Without a directory nothing is done.
  ///
  /// - Throws: `StoreError.offline`; `Problem` when a server refuses, also as nobody is signed in at home; `StoreError.otherUser` when the folder has another
  ///   user's file of that name. What keeps one database from being followed is thrown when all others are.
  public func findDatabases() async throws { try await passes.once("") { try await self.followAll() } }

  private func followAll() async throws {
    let home = try home()
    let all = try await home.directory() ?? []
    let found = all.filter { $0.isMember && !$0.isHome }
    passes.setGuests(found.map(\.name))
    var failure: (any Error)?
    for database in found { do { try await follow(database, home) } catch { failure = error } }
    if let failure { throw failure }
  }

  /// The same for a sync by hand, where home was not asked lately or a session has ended.
  func findDatabasesIfDue() async {
    let guests = passes.guests
    let engines = engines.filter { guests?.contains($0.name) == true }
    var isDue = !passes.areFresh(within: Self.pause)
    for (_, engine) in engines where await !engine.isSignedIn { isDue = true }
    if isDue { try? await findDatabases() }
  }

  private static let signedOut = StoreError(.signedOut, "Nobody is signed in at home.")

  private func home() throws -> SyncEngine {
    guard let home = engine(of: DatabaseName.home) else {
      throw StoreError(.offline, "The address of home is not known: the transport of home is nil.")
    }
    return home
  }

  /// Adds a database of the directory, and begins a session there where that is due.
  @discardableResult
  private func follow(_ database: DirectoryDatabase, _ home: SyncEngine) async throws -> SyncEngine {
    try await passes.once(database.name) { try await self.beginSession(in: database, home) }
    return try opened(database.name)
  }

  private func opened(_ database: String) throws -> SyncEngine {
    guard let engine = engine(of: database) else {
      throw StoreError(.closed, "The database \(database) is not open: see databases.")
    }
    return engine
  }

  private func beginSession(in database: DirectoryDatabase, _ home: SyncEngine) async throws {
    guard let account = try await home.store.account(), account.isSignedIn else { throw Self.signedOut }
    if let other = try await folder.store(of: database.name)?.account(), other.user != account.user {
      throw StoreError(
        .otherUser,
        "The file \(database.name) of the folder belongs to \(other.name). Remove it, or keep it in another folder."
      )
    }
    let known = folder.databases.first { $0.name == database.name }
    if known == nil || known?.server != database.server {
      try await folder.add(database.name, server: database.server)
    }
    let engine = try opened(database.name)
    let isSignedIn = try await engine.store.account()?.isSignedIn == true
    let files = folder.files
    let last = try await files.run { try files.list.read().rows.first { $0.name == database.name }?.passedAt }
    if isSignedIn, passes.isRecent(last, Self.passAge) { return }
    let pass = try await home.pass(for: database.name)
    try await engine.signIn(pass: pass, device: try await home.name(ofDevice: account.device))
    let moment = passes.now()
    try await files.run { try files.list.write { try $0.notePass(database.name, at: moment) } }
    // The user may have signed out of all meanwhile, and somebody else in.
    guard let now = try await home.store.account(), now.isSignedIn, now.user == account.user else {
      try await engine.signOut()
      throw Self.signedOut
    }
    passes.addGuest(database.name)
  }

  /// Follows home's directory until the task is cancelled.
  func followDirectory() async {
    let (moments, moment) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (ends, end) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [sleep = folder.environment.sleep] in
        while (try? await sleep(Self.pause)) != nil { moment.yield() }
      }
      group.addTask {
        var last: [String]?
        for await status in self.statuses {
          let signedOut = status.databases.filter { $0.sync?.needsSignIn == true }.map(\.database)
          if signedOut != last { moment.yield() }
          // A zone may be whole by now.
          if self.passes.mayHaveMoved { end.yield() }
          last = signedOut
        }
      }
      group.addTask { [passes] in
        let (moves, watcher) = passes.moves()
        defer { passes.stop(watcher) }
        for await _ in moves { moment.yield() }
      }
      group.addTask {
        for await _ in moments {
          try? await self.findDatabases()
          _ = await self.carryMoved()
        }
      }
      group.addTask { for await _ in ends { _ = await self.carryMoved() } }
      await group.waitForAll()
    }
  }
}

/// What a folder's process knows of home's directory.
final class FolderPasses: Sendable {
  private struct Known {
    /// The databases in which the user is a guest; nil before home was asked.
    var guests: TextSet?
    var asked: Int64?
    /// Whether change sets may wait for a zone that has moved.
    var mayHaveMoved = true
    var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    var lastWatcher = 0
  }
  private let known = Locked(Known())
  /// Milliseconds since 1970.
  let now: @Sendable () -> Int64

  init(_ environment: StoreEnvironment) { now = environment.now }

  /// The databases whose sessions begin with passes; nil before home was asked.
  var guests: TextSet? { known.withLock { $0.guests } }

  func setGuests(_ names: [String]) {
    let now = now()
    known.withLock { known in (known.guests, known.asked) = (TextSet(names), now) }
  }

  var mayHaveMoved: Bool {
    get { known.withLock { $0.mayHaveMoved } }
    set { known.withLock { $0.mayHaveMoved = newValue } }
  }

  /// Tells those who follow that a server has said zones to be in another database.
  func noteMove() {
    let watchers = known.withLock { known in
      known.mayHaveMoved = true
      return known.watchers.values
    }
    for watcher in watchers { watcher.yield() }
  }

  /// The moments at which zones have moved, until `stop`.
  func moves() -> (AsyncStream<Void>, watcher: Int) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    return known.withLock { known in
      known.lastWatcher += 1
      known.watchers[known.lastWatcher] = continuation
      return (stream, known.lastWatcher)
    }
  }

  func stop(_ watcher: Int) { known.withLock { $0.watchers[watcher] = nil } }

  /// Whether home was asked within a time.
  func areFresh(within age: Duration) -> Bool { isRecent(known.withLock { $0.asked }, age) }

  private let asking = Locked<TextMap<Task<Void, any Error>>>([:])

  /// Runs `body`, or waits for the one of the same name that runs: two passes for a database at once would end each other's session.
  func once(_ name: String, _ body: @escaping @Sendable () async throws -> Void) async throws {
    let task = asking.withLock { running in
      if let task = running[name] { return task }
      let task = Task {
        defer { asking.withLock { $0[name] = nil } }
        try await body()
      }
      running[name] = task
      return task
    }
    // Whoever is cancelled does not wait for a silent server.
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    Task {
      _ = try? await task.value
      end.finish()
    }
    for await _ in ended {}
    try Task.checkCancellation()
    try await task.value
  }

  /// Notes that the user is a guest of a database.
  func addGuest(_ database: String) {
    known.withLock { $0.guests = ($0.guests ?? []).union([database]) }
  }

  /// Whether a time, in milliseconds since 1970, was within the last of some duration.
  func isRecent(_ time: Int64?, _ age: Duration) -> Bool {
    let now = now()
    return time.map { $0 <= now && now - $0 < age.wholeMilliseconds } ?? false
  }
}

extension Result<SyncSummary, any Error> {
  /// Whether it failed as the server took no session.
  var hasNoSession: Bool {
    if case .failure(let error as StoreError) = self { error.code == .signedOut } else { false }
  }
}

/// A database as the servers of home name it.
private struct DirectoryDatabase {
  let name: String
  let server: URL
  let isHome: Bool
  let isMember: Bool

  init?(_ json: JSONValue) {
    guard let name = json["name"]?.stringValue, DatabaseName.isValid(name),
      let server = json["url"]?.stringValue.flatMap({ URL(string: $0) }),
      let isHome = json["is_home"]?.boolValue, let isMember = json["is_member"]?.boolValue
    else { return nil }
    (self.name, self.server, self.isHome, self.isMember) = (name, server, isHome, isMember)
  }
}

extension SyncEngine {
  /// Whether a session is in the file, as far as it can be read.
  var isSignedIn: Bool { get async { (try? await store.account())??.isSignedIn == true } }

  /// The databases of the directory; nil where the server has none.
  fileprivate func directory() async throws -> [DirectoryDatabase]? {
    do { return try await list("v1/databases", "databases", DirectoryDatabase.init) } catch let problem
      as Problem
      where problem.code == .notFound
    {
      return nil
    }
  }

  /// A pass for another database.
  fileprivate func pass(for database: String) async throws -> String {
    let answer = try JSONValue(parsing: await ask("POST", "v1/passes", ["database": .string(database)]))
    guard let pass = answer["pass"]?.stringValue else { throw Problem(.internalError) }
    return pass
  }

  /// What the user calls a device.
  fileprivate func name(ofDevice id: String) async throws -> String {
    try await list("v1/devices", "devices") { item in
      item["id"]?.stringValue == id ? item["name"]?.stringValue : nil
    }.first ?? "device"
  }
}
