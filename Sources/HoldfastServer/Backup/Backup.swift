import HoldfastCore
import HoldfastPostgresStore
import HoldfastSQLiteStore
public import HoldfastService

/// A complete copy of the shared database in a file; docs/RESTORING.md. Works while servers run.
public struct Backup {
  /// The contents of a backup, in numbers.
  public struct Summary: Sendable, Equatable {
    /// The time of the backup, in the wire's timestamp format.
    public let takenAt: String
    /// The number of zones.
    public let zones: Int64
    /// The number of records, including those of built-in tables.
    public let records: Int64
    /// What is inconsistent in a restored database, as it was in the one that was backed up.
    public let findings: [Finding]
    /// The epoch of the database at the moment of the backup.
    let epoch: String

    init(_ manifest: BackupManifest, findings: [Finding] = []) {
      (self.findings, epoch) = (findings, manifest.epoch)
      takenAt = Timestamp.text(milliseconds: manifest.takenAt)
      (zones, records) = (manifest.zones, manifest.records)
    }
  }

  /// Reads a backup to its end, and compares its digest and its compressed content.
  ///
  /// - Throws: `ServerError`: `unreachable`; `notOurs`, `newer` or `damaged` for a file that is no complete backup.
  public static func verify(_ path: String) throws -> Summary {
    let reader = try BackupReader(path)
    try reader.read { _ in }
    return Summary(reader.manifest)
  }

  private let location: DatabaseLocation
  private let environment: ServerEnvironment

  /// - Parameters:
  ///   - location: where the database is.
  ///   - environment: the clock and the randomness; the system's unless given.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) {
    (self.location, self.environment) = (location, environment)
  }

  /// The epoch of the database, by which its backups in a store are told from those of others.
  ///
  /// - Throws: `ServerError`: `refused` if the epoch is that of another database, of which this one is a copy.
  func epoch() throws -> String {
    // Where there is no database, this says so.
    try location.open(schema: nil, random: environment.random).close()
    if case .wentBack(let reason, _) = try location.historyVerdict() {
      throw ServerError(
        .refused,
        "The database is not the one that was served last. \(reason) Start the server once, or run `holdfast restore --begin-epoch`. Then back it up."
      )
    }
    // It is read last: the epoch of a copy that a server begins to serve meanwhile is its own.
    let database = try location.open(schema: nil, random: environment.random)
    defer { database.close() }
    return database.epoch
  }

  /// Writes a backup.
  ///
  /// - Parameter path: the file, which must not exist.
  /// - Throws: `ServerError`; `SQLiteError` or `PostgresError` if the database can't be read. No file is left then.
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

/// Restores a database from a backup; docs/RESTORING.md, section 2.
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
    let findings: [Finding]
    switch (location, reader.manifest.engine) {
    case (.directory(let directory), .sqlite):
      findings = try RestoredDirectory(directory).restore(
        reader.read, epoch: epoch, replacing: replacing, random: environment.random)
    case (.postgres(let database), .postgres):
      if replacing {
        throw ServerError(
          .refused, "--replace goes with --data. Make a new PostgreSQL database, and restore into it.")
      }
      findings = try PostgresRestore(database).restore(reader, epoch: epoch, random: environment.random)
    case (_, let engine):
      throw ServerError(.refused, "The backup is one of \(engine.rawValue), and can't be restored here.")
    }
    return Backup.Summary(reader.manifest, findings: findings)
  }

  /// How often and after which pauses an epoch that another transaction blocks is begun again: for ten minutes, as a change of the schema.
  private static let (attempts, pause) = (400, Duration.milliseconds(500))

  /// Begins a new epoch in a database that was restored by other means. While another transaction of the database is in the way, it tries again
  /// and again, for ten minutes.
  ///
  /// - Parameters:
  ///   - report: receives a sentence about who is in the way, some times a minute.
  ///   - pause: lets time go by between two attempts, in which servers write.
  /// - Throws: `ServerError`; `SQLiteError` or `PostgresError`.
  public func beginEpoch(
    report: (String) -> Void = { _ in }, pause: (Duration) -> Void = { _ in }
  ) throws {
    let lock = try location.lock()
    defer { lock?.release() }
    let database = try location.open(schema: nil, lock: lock, random: environment.random)
    defer { database.close() }
    var isForkKnown = false
    // The history file may be as old as the restored database, so writes since the copy can't be ruled out.
    if case .wentBack(_, let isKnown) = try location.historyVerdict() { isForkKnown = isKnown }
    let store = try database.administration().store
    for attempt in 1...Self.attempts {
      do {
        _ = try store.beginEpoch(
          NewEpoch(environment, because: .commanded, isForkKnown: isForkKnown), after: nil)
        return
      } catch {
        guard case .blocked = store.meaning(of: error), attempt < Self.attempts else { throw error }
        if attempt % 20 == 1 { report("\(error)") }
        pause(Self.pause)
      }
    }
  }
}
