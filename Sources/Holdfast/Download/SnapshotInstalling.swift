import Foundation
import HoldfastCore
import HoldfastSQLite

/// Installing a zone's snapshot on a device that is new, or nearly so: the snapshot's file takes up what the device has, and its pages then replace those
/// of the database. See docs/SNAPSHOTS.md, section 4.
package struct SnapshotInstalling: Sendable {
  /// What is done, in order. A kill after any of them leaves the database of before, or the new one.
  enum Step: CaseIterable, Sendable {
    /// Nobody else has the database open.
    case locked
    /// The file has what the device has.
    case merged
    /// The records are under the device's edits, and the zone is whole.
    case applied
    /// Some of the pages are written.
    case copying
    case copied
  }

  /// The size up to which a snapshot is installed: readers wait meanwhile.
  static let limit: Int64 = 64 << 20
  /// The number of pages that are copied at a time.
  private static let stretch = 1024

  let path: String
  let schema: SyncSchema
  let token: SessionToken
  let pages: any PageStorage
  let files: SnapshotDownloads
  let zone: String
  /// Whose session the snapshot was downloaded in.
  let device: String
  /// Called after each step; a test ends it here.
  var after: @Sendable (Step) throws -> Void = { _ in }

  /// The number of its records.
  private var count = 0

  private var file: String { files.file(zone).path }

  /// Prepares to install the snapshot of a zone; nil if its records are to be copied instead.
  ///
  /// - Throws: `SnapshotFile.Unfit` when the file is none for this app; `SQLiteError`.
  init?(of zone: String, for database: LocalDatabase, files: SnapshotDownloads, device: String) throws {
    (path, schema, token) = (database.connection.path, database.schema, database.token)
    (pages, self.files, self.zone, self.device) = (database.pages, files, zone, device)
    let canInstall = try Self.blamingTheFile {
      try database.connection.attaching(file, as: "snapshot") {
        try isFit(database.connection) && isWhole(database.connection)
      }
    }
    if !canInstall { return nil }
  }

  /// Takes damage for that of the snapshot. If it is the device's own, the pages of the zone meet it, too.
  private static func blamingTheFile<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch let error as SQLiteError where error.isDamage {
      throw SnapshotFile.Unfit(reason: "it is damaged.")
    }
  }

  /// Whether the snapshot can become the database: it has the same form, and so nothing that the app does not know, and the app has nothing of its own.
  /// A device that has much of its own, or some of the zone, copies the records.
  private func isFit(_ connection: SQLiteConnection) throws -> Bool {
    func number(_ name: String, of place: String) throws -> Int64 {
      try connection.value("PRAGMA \(place).\(name)")?.integer ?? 0
    }
    for name in ["page_size", "auto_vacuum"]
    where try number(name, of: "main") != number(name, of: "snapshot") { return false }
    let pages = try number("page_count", of: "snapshot")
    guard try pages > 2 * number("page_count", of: "main"),
      try pages * number("page_size", of: "main") <= Self.limit
    else { return false }
    let form = "SELECT type, name, tbl_name, sql FROM"
    return try connection.row(
      """
      SELECT 1 FROM main.holdfast_zones WHERE zone = ? AND ack = '' AND resync = ''
      AND NOT EXISTS (\(form) main.sqlite_schema EXCEPT \(form) snapshot.sqlite_schema)
      AND NOT EXISTS (\(form) snapshot.sqlite_schema EXCEPT \(form) main.sqlite_schema)
      """, [.text(zone)]) != nil
  }

  /// Whether the file has all tables of the schema as the device has them, with records of this zone alone.
  private mutating func isWhole(_ connection: SQLiteConnection) throws -> Bool {
    let source = try SnapshotSource(schema, of: zone, on: connection)
    guard source.tables.count == schema.tables.count, source.tables.allSatisfy({ $0.names == $0.values })
    else { return false }
    for table in source.tables {
      let row = try connection.row(
        "SELECT count(*), coalesce(sum(\"zone\" IS NOT ?), 0) FROM snapshot.\"\(table.name)\"", [.text(zone)])
      guard let row, row[1] == .integer(0) else { return false }
      count += Int(row[0].integer ?? 0)
    }
    return true
  }

  /// Installs the snapshot. No connection of this store may be open.
  ///
  /// - Parameters:
  ///   - environment: that of the store.
  ///   - isOver: whether the store is to let go of the file; asked now and then.
  /// - Returns: how many records came; nil if nothing was done, and the records are to be copied.
  /// - Throws: `Inapplicable.outdated`, `StoreError.suspended`, `SnapshotFile.Unfit`, `SQLiteError`: nothing has changed but that the snapshot is gone.
  func run(_ environment: StoreEnvironment, isOver: () -> Bool) throws -> Int? {
    guard let target = try lockedDatabase() else { return nil }
    // Lets go of the lock.
    defer { target.close() }
    // Until now others could write.
    guard try target.attaching(file, as: "snapshot", { try isFit(target) }) else { return nil }
    try after(.locked)
    // From here on the file is no snapshot, also after a kill.
    files.removeNote(zone)
    do {
      try Self.blamingTheFile { try replacePages(of: target, environment, isOver: isOver) }
      return count
    } catch {
      files.remove(zone)
      throw error
    }
  }

  private func replacePages(
    of target: SQLiteConnection, _ environment: StoreEnvironment, isOver: () -> Bool
  ) throws {
    let merging = try target.attaching(file, as: "snapshot") {
      try SnapshotMerging(SnapshotSource(schema, of: zone, on: target), on: target)
    }
    try after(.merged)
    let merged = try SQLiteConnection(path: file, access: .readWrite)
    defer { merged.close() }
    try merged.execute(
      "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON"
    )
    try environment.setClock(of: merged)
    let database = LocalDatabase(on: merged, schema: schema, token: token, pages: pages)
    try SnapshotApplying(database: database).apply(merging, of: zone, device: device)
    try after(.applied)
    let check = Ahead { [file] in
      try SnapshotFile.requireSound(SQLiteConnection(path: file, access: .readOnly))
    }
    defer { _ = try? check.value() }
    try merged.backup(to: target, pagesPerStep: Self.stretch) { progress in
      if progress.remaining < progress.total { try after(.copying) }
      if isOver() { throw StoreError(.suspended, "The store is suspended.") }
      // The last step commits.
      if progress.remaining <= Self.stretch { try check.value() }
    }
    try after(.copied)
  }

  /// The database on a connection that nobody can open another beside, out of WAL mode; nil if somebody has it open.
  private func lockedDatabase() throws -> SQLiteConnection? {
    let connection = try SQLiteConnection(path: path, access: .readWrite, busyTimeout: .zero)
    do {
      // As at each opening: only with EXTRA the end of a rollback journal is on disk, too, and with it a commit.
      try connection.execute(
        "PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON; PRAGMA locking_mode = EXCLUSIVE"
      )
      guard try connection.value("PRAGMA journal_mode = DELETE")?.text == "delete" else { return nil }
      try connection.execute("BEGIN EXCLUSIVE; COMMIT")
      return connection
    } catch let error where error.code.primary == .busy {
      return nil
    }
  }
}
