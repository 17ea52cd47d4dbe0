package import HoldfastCore
package import HoldfastSQLite
package import HoldfastService
import HoldfastSystem

/// Keeps the history mark consistent with its SQLite database: docs/RESTORING.md, section 6.
///
/// @unchecked Sendable: the file is used only under the lock of `mark`.
package final class HistoryKeeper: @unchecked Sendable {
  private let file: any HistoryFile
  private let environment: ServerEnvironment
  private let log: @Sendable (String) -> Void
  private let mark: Locked<HistoryMark?>

  /// Reads the mark.
  ///
  /// - Parameter log: receives noteworthy events.
  package init(
    _ file: any HistoryFile, _ environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) throws {
    (self.file, self.environment, self.log) = (file, environment, log)
    mark = Locked(try file.read().flatMap(HistoryMark.init))
  }

  /// Whether a server has served a database in this directory.
  var hasServed: Bool { mark.withLock { $0?.run.id.isEmpty == false } }

  /// Logs a message for the operator.
  package func say(_ text: String) { log(text) }

  /// Begins a run on a database. If the history went back, begins a new epoch first.
  package func begin(_ connection: SQLiteConnection, _ schema: SyncSchema) throws {
    let verdict = HistoryVerdict(mark.withLock { $0 }, try SQLiteHistory(connection))
    try beginRun(connection) {
      guard case .wentBack(_, let isForkKnown) = verdict else { return }
      _ = try SQLiteEpoch.begin(
        NewEpoch(environment, because: .otherDatabase, isForkKnown: isForkKnown), schema, on: connection)
    }
    if case .wentBack(let reason, _) = verdict {
      let epoch = mark.withLock { $0?.epoch ?? "" }
      log(
        "The database is not the one that was served last. \(reason) The epoch \(epoch) has begun: devices recover what the database lacks."
      )
    }
  }

  /// Begins an epoch, and with it a run, while the database is served. A run thus never has two commits with one number.
  ///
  /// - Parameter current: see `StoreWriter.beginEpoch`.
  /// - Returns: the new history; nil if nothing was done.
  package func begin(
    _ epoch: NewEpoch, after current: String?, _ schema: SyncSchema, on connection: SQLiteConnection
  ) throws -> History? {
    var begun: History?
    try beginRun(connection) {
      begun = try SQLiteEpoch.begin(epoch, after: current, schema, on: connection)
    }
    return begun
  }

  /// Begins a run, in one transaction with `body`.
  private func beginRun(_ connection: SQLiteConnection, _ body: () throws -> Void) throws {
    var mark = self.mark.withLock { $0 } ?? HistoryMark()
    let run = hexadecimal(environment.random(8))
    mark.next = run
    try put(mark, isSynced: true)
    try connection.transaction(.immediate) {
      try body()
      try connection.run(
        """
        INSERT INTO holdfast_meta (key, value) VALUES ('run', ?), ('commits', '1')
        ON CONFLICT (key) DO UPDATE SET value = CASE key WHEN 'commits' THEN value + 1 ELSE excluded.value END
        """, [.text(run)])
    }
    let found = try SQLiteHistory(connection)
    mark.begin(HistoryMark.Run(id: run, commits: found.commits), in: found.epoch)
    try put(mark, isSynced: true)
  }

  /// Advances the number of commits in the mark.
  package func advance(to commits: Int64) {
    let isWritten = mark.withLock { mark in
      guard var next = mark, next.run.commits < commits else { return true }
      next.run.commits = commits
      mark = next
      return (try? file.write(next.bytes, isSynced: false)) != nil
    }
    // The server continues: a mark with too few commits raises no false alarm.
    if !isWritten { log("holdfast.history can't be written: a copy put back may not be noticed.") }
  }

  /// Checks that the database is still at its last commit. Another one may have been written over it while it was served.
  ///
  /// - Throws: `HistoryWentBack`.
  func requireSame(_ found: SQLiteHistory) throws {
    guard let mark = mark.withLock({ $0 }) else { return }
    if found.run == mark.run.id, found.commits >= mark.run.commits { return }
    // The database is at an earlier moment of a local run, or another server has served it.
    let isForkKnown = found.run.map { mark.hasServed(HistoryMark.Run(id: $0, commits: found.commits)) }
    throw HistoryWentBack(epoch: found.epoch, reason: .wroteOver, isForkKnown: isForkKnown ?? false)
  }

  /// Makes the mark durable.
  package func end() {
    mark.withLock { mark in
      if let mark { try? file.write(mark.bytes, isSynced: true) }
    }
  }

  private func put(_ mark: HistoryMark, isSynced: Bool) throws {
    try self.mark.withLock {
      try file.write(mark.bytes, isSynced: isSynced)
      $0 = mark
    }
  }
}

/// The history that a database states about itself.
package struct SQLiteHistory {
  package let run: String?
  package let commits: Int64
  package let epoch: String

  package init(_ connection: SQLiteConnection) throws {
    let rows = try connection.rows("SELECT key, value FROM holdfast_meta WHERE key IN (\(Self.keys))")
    self.init(rows.map { ($0[0].text ?? "", $0[1].text ?? "") })
  }

  /// Reads the history from rows of `holdfast_meta`.
  package init(_ rows: [(String, String)]) {
    let meta = TextMap(rows, uniquingKeysWith: { first, _ in first })
    run = meta["run"]
    commits = meta["commits"].flatMap { Int64($0) } ?? 0
    epoch = meta["epoch"] ?? ""
  }

  /// The keys that this type reads, as an SQL list.
  package static let keys = "'run', 'commits', 'epoch'"
}
