import HoldfastCore
import HoldfastPostgresStore
import HoldfastSQLiteStore
public import HoldfastService

/// A whole copy of the shared database as a file; docs/RESTORING.md. Works while servers run.
public struct Backup {
  /// What a backup holds.
  public struct Summary: Sendable, Equatable {
    /// When it was taken, as a timestamp of the wire.
    public let takenAt: String
    /// How many zones.
    public let zones: Int64
    /// How many records, those of the built-in tables among them.
    public let records: Int64

    init(_ manifest: BackupManifest) {
      takenAt = Timestamp.text(milliseconds: manifest.takenAt)
      (zones, records) = (manifest.zones, manifest.records)
    }
  }

  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// - Parameters:
  ///   - location: where the database is.
  ///   - environment: the clock and the randomness; the system's unless given.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    (self.location, self.environment) = (location, environment)
  }

  /// Writes a backup.
  ///
  /// - Parameter path: the file, which must not be there.
  /// - Throws: `ServerError`; `SQLiteError` or `PostgresError` when the database can't be read. Then there is no file.
  public func write(to path: String) throws -> Summary {
    let database = try location.open(schema: nil, random: environment.random)
    defer { database.close() }
    switch (location, database) {
    case (.directory, let database as SQLiteDatabase):
      return Summary(try database.backUp(to: path, at: environment.now()))
    case (.postgres, let database as PostgresDatabase):
      return Summary(try PostgresBackup(database).write(to: path, at: environment.now()))
    default: preconditionFailure("A location opens the database of its kind.")
    }
  }
}

/// Makes a database of a backup; docs/RESTORING.md, section 2.
public struct Restore {
  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// - Parameters:
  ///   - location: where the database is to be.
  ///   - environment: the clock and the randomness; the system's unless given.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    (self.location, self.environment) = (location, environment)
  }

  /// Restores a backup: whole, or not at all.
  ///
  /// - Parameters:
  ///   - path: the folder of the backup.
  ///   - replacing: whether a database that is in the data directory is moved aside.
  /// - Throws: `ServerError`; `SQLiteError` or `PostgresError`.
  public func run(_ path: String, replacing: Bool = false) throws -> Backup.Summary {
    let reader = try BackupReader(path)
    let epoch = NewEpoch(environment, because: .restored, isForkKnown: true)
    switch (location, reader.manifest.engine) {
    case (.directory(let directory), .sqlite):
      try RestoredDirectory(directory).restore(
        reader.read, epoch: epoch, replacing: replacing, random: environment.random)
    case (.postgres(let database), .postgres):
      if replacing {
        throw ServerError(
          .refused, "--replace goes with --data. Make a new PostgreSQL database, and restore into it.")
      }
      try PostgresRestore(database).restore(reader, epoch: epoch, random: environment.random)
    case (_, let engine):
      throw ServerError(.refused, "The backup is one of \(engine.rawValue), and can't be restored here.")
    }
    return Backup.Summary(reader.manifest)
  }

  /// Begins a new epoch in a database that came back by other means.
  ///
  /// - Throws: `ServerError`; `SQLiteError` or `PostgresError`.
  public func beginEpoch() throws {
    let lock = try location.lock()
    defer { lock?.release() }
    let database = try location.open(schema: nil, random: environment.random)
    defer { database.close() }
    var isForkKnown = false
    // Of files that were put back as they had been, nobody can tell whether they were served since.
    if case .wentBack(_, let isKnown) = try location.historyVerdict() { isForkKnown = isKnown }
    _ = try database.administration().store.beginEpoch(
      NewEpoch(environment, because: .commanded, isForkKnown: isForkKnown), after: nil)
  }
}
