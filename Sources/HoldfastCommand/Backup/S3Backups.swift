import Foundation
import Glibc
import HoldfastCore
import HoldfastServer
import HoldfastService

/// Backups in a bucket. Each is written to a file of the folder for temporary files first, and read back into one.
struct S3Backups: BackupStore {
  private let place: S3Place
  private let requests: S3Requests

  init(_ place: S3Place, _ requests: S3Requests) { (self.place, self.requests) = (place, requests) }

  func put(_ backup: Backup, as name: String) throws -> Backup.Summary {
    try Self.withTemporaryFile { file in
      let written = try backup.write(to: file)
      do {
        try requests.put(file, at: place, name)
        guard try get(name, { try Backup.verify($0) }) == written else {
          throw ServerError(.damaged, "\(path(of: name)) is another backup than was sent.")
        }
      } catch {
        // What is stored may not count as a good one, even if the store refused it. The failure itself is what the operator must hear of.
        try? remove(name)
        throw error
      }
      return written
    }
  }

  func names() throws -> [String] { try requests.names(at: place) }

  func remove(_ name: String) throws { try requests.remove(at: place, name) }

  func path(of name: String) -> String { place.path(of: name) }

  /// Lends a backup as a file.
  func get<Result>(_ name: String, _ body: (String) throws -> Result) throws -> Result {
    try Self.withTemporaryFile { file in
      try requests.get(at: place, name, to: file)
      do { return try body(file) } catch let error as ServerError {
        throw ServerError(error.code, error.description.replacing(file, with: path(of: name)))
      }
    }
  }

  /// Lends the path of a file that does not exist, in a folder that only its owner may read.
  private static func withTemporaryFile<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-backup-\(UUID().uuidString)")
    guard mkdir(folder.path, 0o700) == 0 else {
      throw FileError(folder.path, "made, so set TMPDIR to another folder")
    }
    defer { try? FileManager.default.removeItem(at: folder) }
    return try body(folder.appendingPathComponent("backup").path)
  }
}
