import HoldfastSQLite
package import HoldfastService

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A data directory during the restore of a backup: docs/RESTORING.md, section 2.
package struct RestoredDirectory {
  package typealias Contents = ((UnsafeRawBufferPointer) throws -> Void) throws -> Void

  package let directory: DataDirectory

  /// The incomplete database file. It can be discarded.
  private var partial: String { directory.database + ".partial" }
  /// The complete file that replaces the database. Once it exists, the restore is committed.
  private var whole: String { directory.database + ".whole" }

  package init(_ path: String) { directory = DataDirectory(path: path) }

  /// Restores a backup.
  ///
  /// - Parameters:
  ///   - contents: writes the database file in pieces, in order.
  ///   - replacing: whether an existing database is moved aside.
  ///   - random: creates the key of a database whose backup has none.
  package func restore(
    _ contents: Contents, epoch: NewEpoch, replacing: Bool, random: (Int) -> [UInt8]
  ) throws -> [Finding] {
    try directory.make()
    let lock = try DataDirectoryLock(directory)
    defer { lock.release() }
    if try !replacing && directory.hasDatabase() {
      throw ServerError(
        .refused,
        "\(directory.path) has a database. Name another directory, or move that one aside with --replace.")
    }
    clear(partial)
    let findings: [Finding]
    do {
      try fill(contents)
      findings = try writing(partial) { try prepare(epoch, random) }
    } catch {
      clear(partial)
      throw error
    }
    do { try rename(partial, to: whole) } catch {
      clear(partial)
      clear(whole)
      throw error
    }
    let before = Self.endings.filter { exists(directory.database + $0) }
    do { try finish() } catch {
      // As long as the database of before stands, nothing of the restore counts.
      guard isUnfinished, before.allSatisfy({ exists(directory.database + $0) }) else {
        throw ServerError(
          .unreachable,
          "\(error) The restore is committed all the same: the next start finishes it. The database of before is in \(directory.path)/replaced-…"
        )
      }
      clear(whole)
      throw error
    }
    return findings
  }

  private static let endings = ["-wal", "-shm", ""]

  /// Whether a committed restore is not finished.
  package var isUnfinished: Bool { exists(whole) }

  /// Finishes a committed restore. Requires the directory's lock.
  package func finish() throws(ServerError) {
    guard isUnfinished else { return }
    if Self.endings.contains(where: { exists(directory.database + $0) }) {
      // The database file moves last: a folder without one belongs to an interrupted attempt.
      var number = 1
      while exists("\(directory.path)/replaced-\(number)/holdfast.db") { number += 1 }
      let aside = "\(directory.path)/replaced-\(number)"
      if mkdir(aside, 0o700) != 0, errno != EEXIST {
        throw ServerError(.unreachable, "\(aside) can't be made: \(systemMessage(errno)).")
      }
      for ending in Self.endings where exists(directory.database + ending) {
        try rename(directory.database + ending, to: "\(aside)/holdfast.db\(ending)")
      }
    }
    try rename(whole, to: directory.database)
  }

  private func fill(_ contents: Contents) throws {
    let file = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure(partial) }
    defer { close(file) }
    try contents { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = write(file, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure(partial) }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
      }
    }
  }

  /// Begins the epoch in the new database, checks it, and writes it to disk as one file.
  ///
  /// - Returns: what is inconsistent in it, as it was in the database.
  private func prepare(_ epoch: NewEpoch, _ random: (Int) -> [UInt8]) throws -> [Finding] {
    let database = try SQLiteDatabase(file: partial, exists: true, schema: nil, random: random)
    let findings: [Finding]
    do {
      let administration = try database.administration()
      _ = try administration.store.beginEpoch(epoch, after: nil)
      findings = try Finding.restorable(administration.doctor())
    }
    database.close()
    do {
      let connection = try SQLiteConnection(path: partial)
      // It stays in WAL mode: a first opening that switches to it and is killed would leave a journal, which no reading connection rolls back.
      _ = try connection.row("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    if exists(partial + "-wal") {
      throw ServerError(.inUse, "\(partial) is in use by another program.")
    }
    let file = open(partial, O_RDWR | O_CLOEXEC)
    guard file >= 0 else { throw failure(partial) }
    defer { close(file) }
    guard fsync(file) == 0 else { throw failure(partial) }
    return findings
  }

  private func clear(_ path: String) {
    for ending in ["", "-wal", "-shm", "-journal"] { unlink(path + ending) }
  }

  private func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private func rename(_ path: String, to other: String) throws(ServerError) {
    guard renameFile(path, other) == 0 else { throw failure(path) }
    try syncFolder(of: other)
    try syncFolder(of: path)
  }

  private func failure(_ path: String) -> ServerError {
    ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
  }
}

/// A method of this name hides the system's function.
private func renameFile(_ path: String, _ other: String) -> Int32 { rename(path, other) }

extension DataDirectory {
  /// Requires that the directory has a database.
  ///
  /// - Throws: `ServerError.databaseMissing`.
  package func requireDatabase() throws(ServerError) {
    if try hasDatabase() || RestoredDirectory(path).isUnfinished { return }
    throw missing
  }

  /// What `requireDatabase()` throws.
  package var missing: ServerError {
    ServerError(
      .databaseMissing,
      "There is no database \(database), and --must-exist forbids to make one. Is its volume mounted?")
  }
}
