import Foundation
import Glibc

/// A new folder that only its owner may read, for files that are not complete yet.
///
/// It is locked while it is lent. One without a lock is of a process that was killed.
enum DraftFolder {
  private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

  /// Lends a folder, and then removes it, if it is still there. What a killed process left there is removed first.
  ///
  /// - Parameter advice: what to do where it can't be made, after "made".
  static func lend<Result>(_ path: String, advice: String = "", _ body: () throws -> Result) throws -> Result
  {
    removeLeftover(path)
    guard mkdir(path, 0o700) == 0 else { throw FileError(path, "made" + advice) }
    var status = stat()
    let descriptor = open(path, flags)
    defer { if descriptor >= 0 { close(descriptor) } }
    // Another process may have taken it for a leftover before it was locked.
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0,
      status.st_nlink > 0
    else { throw FileError(path, "locked") }
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body()
  }

  /// Removes a folder of this user that no process has locked.
  static func removeLeftover(_ path: String) {
    var status = stat()
    let descriptor = open(path, flags)
    if descriptor < 0 { return }
    defer { close(descriptor) }
    if fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
      flock(descriptor, LOCK_EX | LOCK_NB) == 0
    {
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}

/// Makes a folder whole, or not at all. It must not exist.
///
/// - Parameter body: writes into the folder that it is given.
func writeNewFolder<Result>(_ path: String, _ body: (String) throws -> Result) throws -> Result {
  var status = stat()
  if lstat(path, &status) == 0 { throw FileError(path, "written over; name another folder", EEXIST) }
  var draft = path
  while draft.hasSuffix("/") { draft.removeLast() }
  draft += ".holdfast-partial"
  return try DraftFolder.lend(draft) {
    let result = try body(draft)
    guard rename(draft, path) == 0 else { throw FileError(path, "written") }
    return result
  }
}
