import Foundation
import Glibc

/// A folder for temporary files that only its owner may read.
struct TemporaryFolder {
  let path: String

  private static let start = "holdfast-backup-"

  /// Lends a new folder, and then removes it. Those of processes that were killed are removed first.
  static func lend<Result>(_ body: (TemporaryFolder) throws -> Result) throws -> Result {
    let parent = FileManager.default.temporaryDirectory.path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    for name in names where name.hasPrefix(start) { DraftFolder.removeLeftover("\(parent)/\(name)") }
    let path = "\(parent)/\(start)\(UUID().uuidString)"
    return try DraftFolder.lend(path, advice: ", so set TMPDIR to another folder") {
      try body(TemporaryFolder(path: path))
    }
  }

  /// The path of a backup in it.
  var backup: String { path + "/backup" }

  /// The number of bytes that may be written there.
  var free: Int64 {
    var status = statvfs()
    return statvfs(path, &status) == 0 ? Int64(clamping: status.f_bavail) * Int64(status.f_frsize) : .max
  }
}
