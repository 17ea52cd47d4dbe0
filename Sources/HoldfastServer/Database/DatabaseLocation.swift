import HoldfastCore
public import HoldfastPostgresStore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

/// The location of the shared database.
public enum DatabaseLocation: Sendable {
  /// A data directory, which contains an SQLite file.
  case directory(String)
  /// A PostgreSQL database.
  case postgres(PostgresLocation)

  /// Locks a data directory for one server, creating it if missing. Nil for PostgreSQL, which allows several servers.
  ///
  /// - Throws: `ServerError`.
  func lock() throws(ServerError) -> DataDirectoryLock? {
    guard case .directory(let path) = self else { return nil }
    let directory = DataDirectory(path: path)
    try directory.make()
    let lock = try DataDirectoryLock(directory)
    try RestoredDirectory(path).finish()
    try lock.file.hold()
    return lock
  }

  /// The default folder of snapshots; nil for a temporary folder.
  var snapshotFolder: String? {
    guard case .directory(let path) = self else { return nil }
    return path + "/snapshots"
  }

  /// Opens the database, and creates or extends its tables for `schema`.
  ///
  /// - Parameters:
  ///   - schema: the schema to serve; nil uses the one stored in the database.
  ///   - removals: what happens to tables and columns that `schema` lacks.
  ///   - service: the settings of a server; nil for administration without serving.
  ///   - lock: the lock of the data directory; nil for administration beside a server.
  ///   - random: provides the epoch of a new database.
  /// - Throws: `ServerError`.
  func open(
    schema: SyncSchema?, removals: Removals = .refuse, service: DatabaseService? = nil,
    lock: DataDirectoryLock? = nil, random: (Int) -> [UInt8]
  ) throws -> any ServerDatabase {
    switch self {
    case .directory(let path):
      if RestoredDirectory(path).isUnfinished {
        throw ServerError(
          .inUse,
          "A backup is being restored into \(path), or was when that ended: start the server, and it is finished."
        )
      }
      let directory = DataDirectory(path: path)
      let keeper = try service.map {
        try HistoryKeeper(SystemHistoryFile(directory), $0.environment, log: $0.log)
      }
      return try SQLiteDatabase(
        in: directory, schema: schema, removals: removals, keeper: keeper, slow: service?.slow,
        lock: lock, random: random)
    case .postgres(let location):
      return try PostgresDatabase(
        location, schema: schema, removals: removals, service: service, random: random)
    }
  }

  /// Locks and opens the database for serving. Begins a new epoch if its history was rolled back: docs/RESTORING.md, section 6.
  ///
  /// - Throws: `ServerError`.
  func serve(
    schema: SyncSchema?, removals: Removals = .refuse, _ service: DatabaseService
  ) throws -> (database: any ServerDatabase, lock: DataDirectoryLock?) {
    if case .directory(let path) = self, service.mustExist { try DataDirectory(path: path).requireDatabase() }
    let lock = try lock()
    do {
      let database = try open(
        schema: schema, removals: removals, service: service, lock: lock, random: service.environment.random)
      return (database, lock)
    } catch let error as SQLiteError where error.code.primary == .full {
      throw ServerError(
        .unreachable,
        "The disk of the data directory is full. Nothing is lost: free some megabytes, and start again.")
    }
  }
}
