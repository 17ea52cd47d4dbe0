import Foundation
import HoldfastCore
import HoldfastSQLite

/// What became of the seed that a store was opened with.
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
    if exists(path) {
      unlink(copy)
      return .notNeeded
    }
    let descriptor = open(copy, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(copy) }
    defer { close(descriptor) }
    // Of several processes one does it, and the others find its database.
    guard flock(descriptor, LOCK_EX) == 0 else { throw failure(copy) }
    if exists(path) {
      unlink(copy)
      return .notNeeded
    }
    do {
      try write(to: descriptor, copy)
      try after(.copied)
      try check(copy)
      try after(.checked)
    } catch let unfit as Unfit {
      unlink(copy)
      return .ignored(reason: unfit.reason)
    }
    // Of a database that is no more; SQLite would take them for this one's.
    for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
    // Never in place of a database that came meanwhile, as a rename would.
    if link(copy, path) != 0 {
      if exists(path) { return .notNeeded }
      // Where files have one name only.
      guard rename(copy, path) == 0 else { throw failure(path) }
    }
    try after(.linked)
    unlink(copy)
    try after(.unlinked)
    syncFolder()
    try after(.synced)
    return .used
  }

  private func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Copies the seed, and returns when it is on disk.
  private func write(to descriptor: Int32, _ copy: String) throws {
    guard let source = try? FileHandle(forReadingFrom: file) else {
      throw Unfit(reason: "\(file.path) can't be read.")
    }
    defer { try? source.close() }
    guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw failure(copy) }
    let target = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    while true {
      let part: Data?
      do { part = try source.read(upToCount: 1 << 20) } catch {
        throw Unfit(reason: "\(file.path) can't be read.")
      }
      guard let part, !part.isEmpty else { break }
      do { try target.write(contentsOf: part) } catch { throw failure(copy) }
    }
    guard fsync(descriptor) == 0 else { throw failure(copy) }
  }

  private func failure(_ path: String) -> StoreError {
    StoreError(
      .cannotOpen,
      "\(path) can not be written: \(String(cString: strerror(errno))). Make its folder, and allow this user to write there."
    )
  }

  /// Checks that a file is a snapshot that this schema can follow.
  private func check(_ copy: String) throws {
    do { try SnapshotFile(path: copy).check(for: schema) } catch let error as SnapshotFile.Unfit {
      throw Unfit(reason: "\(file.path): \(error.reason)")
    }
  }

  /// Makes the new name durable; where that can't be done, a loss of power leaves nothing, and the next opening seeds again.
  private func syncFolder() {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
