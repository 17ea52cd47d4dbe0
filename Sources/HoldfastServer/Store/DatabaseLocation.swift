import HoldfastCore

/// Where the shared database is.
public enum DatabaseLocation: Sendable {
  /// A data directory, in which it is an SQLite file.
  case directory(String)
  /// A PostgreSQL database.
  case postgres(PostgresLocation)

  /// The right to be its one server, where there can be only one: the directory is made when it is missing.
  ///
  /// - Throws: `ServerError`.
  func lock() throws(ServerError) -> DataDirectoryLock? {
    guard case .directory(let path) = self else { return nil }
    let directory = DataDirectory(path: path)
    try directory.make()
    let lock = try DataDirectoryLock(directory)
    try RestoredDirectory(path).finish()
    return lock
  }

  /// Where snapshots are kept unless somebody says otherwise; nil for a temporary folder.
  var snapshotFolder: String? {
    guard case .directory(let path) = self else { return nil }
    return path + "/snapshots"
  }

  /// Opens the database, and makes or extends it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: what to serve; nil takes the one in the database.
  ///   - removals: what becomes of tables and columns that `schema` lacks.
  ///   - random: gives the epoch of a new database.
  /// - Throws: `ServerError`.
  func open(
    schema: Schema?, removals: Removals = .refuse, random: (Int) -> [UInt8]
  ) throws -> any ServerDatabase {
    switch self {
    case .directory(let path):
      if RestoredDirectory(path).isUnfinished {
        throw ServerError(
          .inUse,
          "A backup is being restored into \(path), or was when that ended: start the server, and it is finished."
        )
      }
      return try SQLiteDatabase(
        in: DataDirectory(path: path), schema: schema, removals: removals, random: random)
    case .postgres(let location):
      return try PostgresDatabase(location, schema: schema, removals: removals, random: random)
    }
  }
}
