import HoldfastCore

/// Where the shared database is.
public enum DatabaseLocation: Sendable {
  /// A data directory, in which it is an SQLite file.
  case directory(String)

  /// Opens the database, and makes or extends it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: what to serve; nil takes the one in the database.
  ///   - random: gives the epoch of a new database.
  /// - Throws: `ServerError`.
  func open(schema: Schema?, random: (Int) -> [UInt8]) throws -> any ServerDatabase {
    switch self {
    case .directory(let path):
      try SQLiteDatabase(in: DataDirectory(path: path), schema: schema, random: random)
    }
  }
}
