import HoldfastCore
import HoldfastServer
import HoldfastService

/// Backups in a bucket. Each is written to a file of the folder for temporary files first, and read back into one.
struct S3Backups: BackupStore {
  private let place: S3Place
  private let requests: S3Requests

  init(_ place: S3Place, _ requests: S3Requests) { (self.place, self.requests) = (place, requests) }

  func put(_ backup: Backup, as name: String) throws -> Backup.Summary {
    try TemporaryFolder.lend { folder in
      let written = try backup.write(to: folder.backup)
      do {
        let size = try requests.put(folder.backup, at: place, name)
        guard try get(name, size: size, { try Backup.verify($0) }) == written else {
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
  ///
  /// - Parameter size: the size that it must have; nil if that is not known.
  func get<Result>(_ name: String, size: Int64? = nil, _ body: (String) throws -> Result) throws -> Result {
    try TemporaryFolder.lend { folder in
      try requests.get(at: place, name, size: size, to: folder)
      do { return try body(folder.backup) } catch let error as ServerError {
        throw ServerError(error.code, error.description.replacing(folder.backup, with: path(of: name)))
      }
    }
  }
}
