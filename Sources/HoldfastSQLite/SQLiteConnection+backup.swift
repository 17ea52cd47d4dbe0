internal import CSQLite

extension SQLiteConnection {
  /// How far a backup has come.
  public struct BackupProgress: Sendable, Hashable {
    /// Pages still to copy.
    public let remaining: Int
    /// Pages in all.
    public let total: Int
  }

  /// Copies this database, as it is now, to a file, while other connections go on reading and, in WAL mode,
  /// writing.
  ///
  /// One read transaction is held throughout, so the copy is of one moment and writers never make it begin
  /// again. The connection's thread is taken until the end; use a connection of its own for a large database.
  /// Source: <https://www.sqlite.org/backup.html>.
  /// - Parameters:
  ///   - path: the file to write; a database there is replaced.
  ///   - pagesPerStep: pages copied between two calls of `progress`, at least 1; 1024 unless given.
  ///   - progress: called after each step; what it throws ends the backup and is thrown on.
  /// - Throws: `.busy` when this connection has written in an open transaction, or the file stays locked;
  ///   `.full`, `.ioError`, `.cantOpen` and others of the new file, which is then not usable; what `progress`
  ///   throws.
  public func backup(
    to path: String, pagesPerStep: Int = 1024, progress: (BackupProgress) throws -> Void = { _ in }
  ) throws {
    guard !isInTransaction else { return try copy(to: path, pagesPerStep, progress) }
    try transaction(.deferred) {
      // A deferred transaction gets its snapshot with its first read.
      try run("SELECT count(*) FROM sqlite_master")
      try copy(to: path, pagesPerStep, progress)
    }
  }

  private func copy(to path: String, _ pages: Int, _ progress: (BackupProgress) throws -> Void) throws {
    let target = try SQLiteConnection(path: path)
    guard let backup = sqlite3_backup_init(target.database, "main", database, "main") else {
      let code = sqlite3_extended_errcode(target.database)
      throw SQLiteError(code, of: target.database, statement: nil, while: .opening)
    }
    do {
      while true {
        let result = sqlite3_backup_step(backup, Int32(clamping: max(pages, 1)))
        guard result == SQLITE_OK || result == SQLITE_DONE else {
          throw SQLiteError(SQLiteError.Code(rawValue: result), "The backup failed.", statement: nil)
        }
        try progress(
          BackupProgress(
            remaining: Int(sqlite3_backup_remaining(backup)), total: Int(sqlite3_backup_pagecount(backup))))
        if result == SQLITE_DONE { break }
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
