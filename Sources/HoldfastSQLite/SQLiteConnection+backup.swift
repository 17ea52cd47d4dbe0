internal import CSQLite

extension SQLiteConnection {
  /// The progress of a backup.
  package struct BackupProgress: Sendable, Hashable {
    /// Pages still to copy.
    package let remaining: Int
    /// Pages in all.
    package let total: Int
  }

  /// Copies the current database to a file. Other connections can read meanwhile and, in WAL mode, write.
  ///
  /// One read transaction covers the whole copy, so it is a consistent snapshot, and writers never restart it. The call blocks the
  /// connection's thread; use a separate connection for a large database. Source: <https://www.sqlite.org/backup.html>.
  /// - Parameters:
  ///   - path: the file to write; a database there is replaced.
  ///   - pagesPerStep: pages copied between two calls of `progress`, at least 1; default 1024.
  ///   - progress: called before each step. Its error ends the backup and is rethrown.
  /// - Throws: `.busy` if this connection has written in an open transaction, or the file stays locked; `.full`, `.ioError`, `.cantOpen`
  ///   and others of the new file, which is then unusable; errors of `progress`.
  package func backup(
    to path: String, pagesPerStep: Int = 1024, progress: (BackupProgress) throws -> Void = { _ in }
  ) throws {
    guard !isInTransaction else {
      return try backup(to: SQLiteConnection(path: path), pagesPerStep: pagesPerStep, progress: progress)
    }
    try transaction(.deferred) {
      // A deferred transaction gets its snapshot with its first read.
      try run("SELECT count(*) FROM sqlite_master")
      try backup(to: SQLiteConnection(path: path), pagesPerStep: pagesPerStep, progress: progress)
    }
  }

  /// Replaces the content of the database on another connection, in one transaction of that.
  ///
  /// - Parameters: as for a path. `target` must have no open transaction. Where it is in WAL mode, all pages go through its log.
  /// - Throws: as for a path; the target is as it was before.
  package func backup(
    to target: SQLiteConnection, pagesPerStep: Int = 1024,
    progress: (BackupProgress) throws -> Void = { _ in }
  ) throws {
    guard let backup = sqlite3_backup_init(target.database, "main", database, "main") else {
      let code = sqlite3_extended_errcode(target.database)
      throw SQLiteError(code, of: target.database, statement: nil, while: .opening)
    }
    do {
      let pages = try Int(value("PRAGMA page_count")?.integer ?? 0)
      try progress(BackupProgress(remaining: pages, total: pages))
      while true {
        let result = sqlite3_backup_step(backup, Int32(clamping: max(pagesPerStep, 1)))
        if result == SQLITE_DONE { break }
        guard result == SQLITE_OK else {
          throw SQLiteError(SQLiteError.Code(rawValue: result), "The backup failed.", statement: nil)
        }
        try progress(
          BackupProgress(
            remaining: Int(sqlite3_backup_remaining(backup)), total: Int(sqlite3_backup_pagecount(backup))))
      }
    } catch {
      sqlite3_backup_finish(backup)
      throw error
    }
    let result = sqlite3_backup_finish(backup)
    guard result == SQLITE_OK else {
      throw SQLiteError(result, of: target.database, statement: nil, while: .opening)
    }
  }
}
