internal import CSQLite

/// Moving the write-ahead log into the database file at a time of one's own choice.
///
/// Source: <https://www.sqlite.org/c3ref/wal_hook.html>, <https://www.sqlite.org/wal.html#ckpt>.
extension SQLiteConnection {
  /// From now on a commit on this connection starts no checkpoint; its user calls `checkpoint()` instead.
  public func deferCheckpoints() {
    let context = Unmanaged.passUnretained(observation).toOpaque()
    sqlite3_wal_hook(
      database,
      { context, _, _, pages in
        if let context {
          Unmanaged<Observation>.fromOpaque(context).takeUnretainedValue().pagesInLog = Int(pages)
        }
        return SQLITE_OK
      }, context)
  }

  /// How many pages the write-ahead log had after the last commit of this connection, once checkpoints are deferred.
  public var pagesInLog: Int { observation.pagesInLog }

  /// Moves what can be moved without waiting for anybody. The data is as durable before as after.
  ///
  /// - Throws: `.busy` when another connection does the same, `.ioError`, `.full`.
  public func checkpoint() throws(SQLiteError) {
    let result = sqlite3_wal_checkpoint_v2(database, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    observation.pagesInLog = 0
    if result != SQLITE_OK { throw SQLiteError(result, of: database, statement: nil, while: .running) }
  }

  /// Brings the write-ahead log to the disk, as it is found at the opening: a process that was killed in its commit leaves one that is whole, and is
  /// shown from then on, but may be lost with the power.
  ///
  /// - Throws: `.ioError`.
  public func makeLogDurable() throws(SQLiteError) {
    do { try checkpoint() } catch {
      // Pages are moved only after the log is on disk; where another connection moves them, it has seen to that.
      if error.code.primary != .full, error.code.primary != .busy { throw error }
    }
  }
}
