import Foundation
import Glibc

/// A folder for temporary files that only its owner may read.
struct TemporaryFolder {
  let path: String

  private static let start = "holdfast-backup-"
  private static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

  /// Lends a new folder, which is locked meanwhile, and then removed. Those of processes that were killed have no lock, and are removed first.
  static func lend<Result>(_ body: (TemporaryFolder) throws -> Result) throws -> Result {
    let parent = FileManager.default.temporaryDirectory.path
    removeLeftovers(in: parent)
    let path = "\(parent)/\(start)\(UUID().uuidString)"
    guard mkdir(path, 0o700) == 0 else { throw FileError(path, "made, so set TMPDIR to another folder") }
    defer { try? FileManager.default.removeItem(atPath: path) }
    let descriptor = open(path, flags)
    guard descriptor >= 0 else { throw FileError(path, "read, so set TMPDIR to another folder") }
    defer { close(descriptor) }
    flock(descriptor, LOCK_EX | LOCK_NB)
    return try body(TemporaryFolder(path: path))
  }

  /// The path of a backup in it.
  var backup: String { path + "/backup" }

  /// The number of bytes that may be written there.
  var free: Int64 {
    var status = statvfs()
    return statvfs(path, &status) == 0 ? Int64(clamping: status.f_bavail) * Int64(status.f_frsize) : .max
  }

  private static func removeLeftovers(in parent: String) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    for path in names.filter({ $0.hasPrefix(start) }).map({ "\(parent)/\($0)" }) {
      var status = stat()
      let descriptor = open(path, flags)
      if descriptor < 0 { continue }
      defer { close(descriptor) }
      if fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
        flock(descriptor, LOCK_EX | LOCK_NB) == 0
      {
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }
}
