import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// What became of the seed that a store was opened with.
///
/// ```swift
/// let store = try Store(path: path, schema: schema, seed: Bundle.main.url(forResource: "seed", withExtension: "db"))
/// if case .ignored(let reason) = store.seeding { print(reason) }
/// ```
public enum Seeding: Sendable, Hashable {
  /// No seed was given.
  case none
  /// There was a database already; the seed was not looked at.
  case notNeeded
  /// The database is the seed's.
  case used
  /// The seed is of no use here, for this reason, for a developer; the database is new and empty, and downloads all.
  case ignored(reason: String)
}

/// Puts a snapshot where a new database is to be. See docs/SNAPSHOTS.md, section 3.
struct Seed {
  /// What is done, in order. A kill after any of them leaves nothing at the path, or the whole seed.
  enum Step: CaseIterable, Sendable {
    case copied, checked, linked, unlinked, synced
  }

  /// Why a seed is not used.
  private struct Unfit: Error {
    let reason: String
  }

  let file: URL
  let path: String
  let schema: SyncSchema
  /// Called after each step; a test ends it here.
  var after: (Step) throws -> Void = { _ in }

  /// Puts the seed at the path, unless there is something.
  ///
  /// - Throws: `StoreError.cannotOpen` when it can't be written there.
  func plant() throws -> Seeding {
    let copy = path + "-seed"
    // The second name of a seed that is in place, or what another process is just making: it notices.
    if System.exists(path) {
      System.remove(copy)
      return .notNeeded
    }
    // Of several processes one does it, and the others find its database.
    let target = try writing(copy) { try PrivateFileWriter(copy) }
    return try withExtendedLifetime(target) {
      if System.exists(path) {
        System.remove(copy)
        return .notNeeded
      }
      do {
        try fill(target, copy)
        try after(.copied)
        try check(copy)
        try after(.checked)
      } catch let unfit as Unfit {
        System.remove(copy)
        return .ignored(reason: unfit.reason)
      }
      return try name(copy)
    }
  }

  /// Gives the copy the name of the database.
  private func name(_ copy: String) throws -> Seeding {
    // Of a database that is no more; SQLite would take them for this one's.
    for suffix in ["-wal", "-shm", "-journal"] { System.remove(path + suffix) }
    do { try System.move(copy, toNew: path) } catch {
      // Never in place of a database that came meanwhile.
      if System.exists(path) { return .notNeeded }
      throw failure(path, error)
    }
    try after(.linked)
    System.remove(copy)
    try after(.unlinked)
    // Where that can't be done, a loss of power leaves nothing, and the next opening seeds again.
    System.syncFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
    try after(.synced)
    return .used
  }

  /// Copies the seed, and returns when it is on disk.
  private func fill(_ target: PrivateFileWriter, _ copy: String) throws {
    guard let source = try? FileHandle(forReadingFrom: file) else {
      throw Unfit(reason: "\(file.path) can't be read.")
    }
    defer { try? source.close() }
    try writing(copy) { try target.clear() }
    while true {
      let part: Data?
      do { part = try source.read(upToCount: 1 << 20) } catch {
        throw Unfit(reason: "\(file.path) can't be read.")
      }
      guard let part, !part.isEmpty else { break }
      try writing(copy) { try part.withUnsafeBytes { try target.write($0) } }
    }
    try writing(copy) { try target.sync() }
  }

  private func writing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw failure(path, error) }
  }

  private func failure(_ path: String, _ error: any Error) -> StoreError {
    StoreError(
      .cannotOpen,
      "\(path) can not be written: \(error). Make its folder, and allow this user to write there.")
  }

  /// Checks that a file is a snapshot that this schema can follow.
  private func check(_ copy: String) throws {
    do { try SnapshotFile(path: copy).check(for: schema) } catch let error as SnapshotFile.Unfit {
      throw Unfit(reason: "\(file.path): \(error.reason)")
    }
  }
}
