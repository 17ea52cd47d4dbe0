import HoldfastCore
import HoldfastSQLite
import Synchronization

/// Keeps the mark beside an SQLite database in step with it: docs/RESTORING.md, section 6.
///
/// @unchecked Sendable: the file is used under the lock of `mark` alone.
final class HistoryKeeper: @unchecked Sendable {
  private let file: any HistoryFile
  private let environment: ServerEnvironment
  private let log: @Sendable (String) -> Void
  private let mark: Mutex<HistoryMark?>

  /// Reads the mark.
  ///
  /// - Parameter log: takes what was noticed.
  init(
    _ file: any HistoryFile, _ environment: ServerEnvironment, log: @escaping @Sendable (String) -> Void
  ) throws {
    (self.file, self.environment, self.log) = (file, environment, log)
    mark = Mutex(try file.read().flatMap(HistoryMark.init))
  }

  /// Whether a server has served a database here.
  var hasServed: Bool { mark.withLock { $0?.run.isEmpty == false } }

  /// Tells the operator something.
  func say(_ text: String) { log(text) }

  /// Begins a run on a database, and before it a new epoch if its history went back.
  func begin(_ connection: SQLiteConnection, _ schema: SyncSchema) throws {
    let known = self.mark.withLock { $0 }
    let verdict = HistoryVerdict(known, try SQLiteHistory(connection))
    var mark = known ?? HistoryMark()
    let run = hexadecimal(environment.random(8))
    mark.next = run
    try put(mark, isSynced: true)
    try connection.transaction(.immediate) {
      if case .wentBack = verdict {
        _ = try SQLiteEpoch.begin(
          NewEpoch(environment, because: .otherDatabase), schema, on: connection)
      }
      try connection.run(
        """
        INSERT INTO holdfast_meta (key, value) VALUES ('run', ?), ('commits', '1')
        ON CONFLICT (key) DO UPDATE SET value = CASE key WHEN 'commits' THEN value + 1 ELSE excluded.value END
        """, [.text(run)])
    }
    let found = try SQLiteHistory(connection)
    mark.run = run
    mark.next = ""
    (mark.commits, mark.epoch) = (found.commits, found.epoch)
    try put(mark, isSynced: true)
    if case .wentBack(let reason) = verdict {
      log(
        "The database is not the one that was served last. \(reason) The epoch \(found.epoch) has begun: devices recover what the database lacks."
      )
    }
  }

  /// The database has so many commits, and somebody may hear of it.
  func advance(to commits: Int64) {
    let isWritten = mark.withLock { mark in
      guard var next = mark, next.commits < commits else { return true }
      next.commits = commits
      mark = next
      return (try? file.write(next.bytes, isSynced: false)) != nil
    }
    // The database goes on: a mark that says less than there is raises no false alarm.
    if !isWritten { log("holdfast.history can't be written: a copy put back may not be noticed.") }
  }

  /// Whether the database has fewer commits than it had: another was written over it while it was served.
  func isBehind(_ commits: Int64) -> Bool { mark.withLock { $0.map { commits < $0.commits } ?? false } }

  /// The database goes on from where it is now, in another epoch.
  func takeUp(_ connection: SQLiteConnection) throws {
    guard var mark = mark.withLock({ $0 }) else { return }
    let found = try SQLiteHistory(connection)
    (mark.commits, mark.epoch) = (found.commits, found.epoch)
    try put(mark, isSynced: true)
  }

  /// Makes the mark durable.
  func end() {
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

/// What a database says of its own history.
struct SQLiteHistory {
  let run: String?
  let commits: Int64
  let epoch: String

  init(_ connection: SQLiteConnection) throws {
    func meta(_ key: String) throws -> String? {
      try connection.value("SELECT value FROM holdfast_meta WHERE key = ?", [.text(key)])?.text
    }
    run = try meta("run")
    commits = try meta("commits").flatMap { Int64($0) } ?? 0
    epoch = try meta("epoch") ?? ""
  }
}
