import Glibc
import HoldfastSQLiteStore
import HoldfastService

/// A folder of backups.
public struct BackupFolder: BackupStore {
  private let folder: String

  /// - Parameter path: the folder, which must exist.
  public init(_ path: String) { folder = path }

  /// Writes a backup, and verifies it. What killed processes left of others is removed first.
  public func put(_ backup: Backup, as name: String) throws -> Backup.Summary {
    BackupDraft.removeLeftovers(in: folder, try names())
    let summary = try backup.write(to: path(of: name))
    do { _ = try Backup.verify(path(of: name)) } catch {
      // It may not count as a good one.
      try? remove(name)
      throw error
    }
    return summary
  }

  /// The names of the entries of the folder.
  public func names() throws -> [String] { try SnapshotCache.names(in: folder, option: "--folder") }

  /// Removes a file.
  public func remove(_ name: String) throws {
    guard unlink(path(of: name)) == 0 else {
      throw ServerError(.unreachable, "\(path(of: name)) can't be removed: \(systemMessage(errno)).")
    }
  }

  /// The path of a file.
  public func path(of name: String) -> String { "\(folder)/\(name)" }
}
