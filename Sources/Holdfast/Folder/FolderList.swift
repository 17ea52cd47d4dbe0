import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// The list of a folder's databases, in the file `folder.db`. See docs/FOLDERS.md.
///
/// Each use opens it, so that nothing holds a lock on it between. What makes or removes a file of the folder has the list to itself meanwhile: of several
/// processes one does so at a time, and nobody sees what is half done.
struct FolderList: Sendable {
  /// What is to be done before a database is used again.
  enum Leaving: String, Sendable {
    /// The session ends, and the data stay.
    case signOut = "sign-out"
    /// The data leave the device, unless there are unsent edits.
    case remove
    /// The data leave the device, with what was not sent.
    case discard
  }

  /// A database of the list.
  struct Row: Sendable, Equatable {
    let name: String
    /// The address of its servers; nil for home, and where the app has not said it.
    let server: String?
    let leaving: Leaving?
    /// What tells whether somebody has signed in or written since. Nil when nothing is marked, or the file could not be looked at.
    let moment: SignOut.Moment?
    /// When its session last began with a pass, in milliseconds since 1970; nil for never.
    let passedAt: Int64?
  }

  let path: FolderPath

  /// "HfFo".
  private static let applicationID: Int64 = 0x4866_466F
  private static let formatVersion: Int64 = 1

  /// The databases, home first and the others in the order in which they were added; and how many files one connection can read.
  func read() throws -> (rows: [Row], limit: Int) {
    try Self.telling(path) {
      let connection = try connect(.readWrite)
      defer { connection.close() }
      return try connection.transaction(.deferred) {
        try prepare(connection)
        return (try Writer(connection: connection, path: path).rows(), connection.limit(.attached))
      }
    }
  }

  /// Runs `body`, which reads and changes the list: each change is on disk before the next. No other process has the list meanwhile.
  ///
  /// - Throws: `StoreError` when the file is something else, newer, damaged or held; what `body` throws.
  func write<T>(_ body: (Writer) throws -> T) throws -> T {
    let connection = try Self.telling(path) {
      PrivateFile.makeDatabase(path.list)
      let connection = try connect(.readWriteCreate)
      // Keeps the lock of the first transaction until the connection is closed.
      try connection.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
      try prepare(connection)
      try connection.execute("COMMIT")
      return connection
    }
    let writer = Writer(connection: connection, path: path)
    defer {
      connection.close()
      if writer.isChanged { path.announceChange() }
    }
    return try body(writer)
  }

  private func connect(_ access: SQLiteConnection.Access) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path.list, access: access, busyTimeout: .seconds(15))
    // The end of a rollback journal is durable only with EXTRA. On Apple's platforms a common fsync leaves what is written in the drive's cache.
    try connection.execute("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON")
    return connection
  }

  /// Says of which file an error is.
  private static func telling<T>(_ path: FolderPath, _ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as SQLiteError {
      let path = path.list
      if error.code.primary == .cantOpen || error.code.primary == .readOnly {
        throw StoreError(
          .cannotOpen,
          "\(path) can not be opened for writing. Make the folder that it is in, and allow this user to write there."
        )
      }
      if error.isDamage {
        throw StoreError(
          .databaseIsBroken,
          "\(path) is damaged (\(error.code)). Move it away: the databases are found by their files, without their addresses."
        )
      }
      if error.code.primary == .busy {
        throw StoreError(.busy, "Another process holds \(path) for long. Nothing was changed. Try again.")
      }
      throw error
    }
  }

  /// Makes the list, where there is none, of the files that are there: it was lost.
  private func prepare(_ connection: SQLiteConnection) throws {
    let id = try connection.value("PRAGMA application_id")?.integer ?? 0
    let version = try connection.value("PRAGMA user_version")?.integer ?? 0
    if id == 0, try connection.value("SELECT count(*) FROM sqlite_schema")?.integer == 0 {
      try connection.execute(
        """
        PRAGMA application_id = \(Self.applicationID); PRAGMA user_version = \(Self.formatVersion);
        CREATE TABLE databases (n INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, server TEXT, leaving TEXT, session TEXT, edits TEXT, passed_at INTEGER);
        INSERT INTO databases (name) VALUES ('\(DatabaseName.home)')
        """)
      for name in path.databases() where name != DatabaseName.home {
        try connection.run("INSERT INTO databases (name) VALUES (?)", [.text(name)])
      }
      return
    }
    guard id == Self.applicationID else {
      throw StoreError(
        .notAHoldfastDatabase,
        "\(path.list) holds another program's database. Give another folder, or move it away.")
    }
    guard version <= Self.formatVersion else {
      throw StoreError(
        .databaseIsNewer, "\(path.list) was made by a newer Holdfast (form \(version)). Update the app.")
    }
  }

  /// The list for one who has it to itself.
  final class Writer {
    private let connection: SQLiteConnection
    private let path: FolderPath
    /// Whether it was changed.
    fileprivate private(set) var isChanged = false

    fileprivate init(connection: SQLiteConnection, path: FolderPath) {
      (self.connection, self.path) = (connection, path)
    }

    func rows() throws -> [Row] {
      let rows = try FolderList.telling(path) {
        try connection.rows(
          "SELECT name, server, leaving, session, edits, passed_at FROM databases ORDER BY name <> '\(DatabaseName.home)', n"
        )
      }
      return try rows.compactMap { row in
        // Another program has written it: such a name could be that of a file elsewhere.
        guard let name = row[0].text, FolderPath.isDatabase(name) else { return nil }
        // A mark of which this version knows nothing must not be passed over.
        let leaving = try row[2].text.map { word in
          guard let leaving = Leaving(rawValue: word) else {
            throw StoreError(.databaseIsNewer, "The folder was used by a newer Holdfast. Update the app.")
          }
          return leaving
        }
        let moment = row[3].text.flatMap { session in
          row[4].text.map { SignOut.Moment(session: session, edits: $0) }
        }
        return Row(
          name: name, server: row[1].text, leaving: leaving, moment: moment, passedAt: row[5].integer)
      }
    }

    /// Adds a database; one that is there stays, and gets the address, if there is one.
    ///
    /// - Returns: whether it was not there.
    func add(_ name: String, server: String?) throws -> Bool {
      let isNew = try !rows().contains { $0.name == name }
      try change(
        """
        INSERT INTO databases (name, server) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET server = coalesce(?2, server), leaving = NULL
        """, [[.text(name), server.map { .text($0) } ?? .null]])
      return isNew
    }

    /// Marks databases, or takes their marks away.
    ///
    /// - Parameter moments: what tells whose sessions end, and which edits may be discarded, by the database.
    func mark(_ names: [String], _ leaving: Leaving?, at moments: TextMap<SignOut.Moment> = [:]) throws {
      try change(
        "UPDATE databases SET leaving = ?, session = ?, edits = ? WHERE name = ?",
        names.map { name in
          let moment = moments[name]
          return [leaving?.rawValue, moment?.session, moment?.edits, name].map {
            $0.map { .text($0) } ?? .null
          }
        })
    }

    /// Notes when the session in a database began with a pass.
    func notePass(_ name: String, at now: Int64) throws {
      try change("UPDATE databases SET passed_at = ? WHERE name = ?", [[.integer(now), .text(name)]])
    }

    func remove(_ name: String) throws { try change("DELETE FROM databases WHERE name = ?", [[.text(name)]]) }

    /// Runs a statement with each of some values, in one transaction.
    private func change(_ sql: String, _ values: [[SQLiteValue]]) throws {
      isChanged = true
      try FolderList.telling(path) {
        try connection.transaction(.immediate) { for values in values { try connection.run(sql, values) } }
      }
    }
  }
}
