import Glibc
import HoldfastCore
import HoldfastSQLiteStore
public import HoldfastService

/// A folder of backups, of which the latest are kept; docs/RESTORING.md, section 1.
///
/// ```swift
/// let kept = try BackupFolder("/var/backups/holdfast").add(Backup(location), keeping: 14)
/// ```
public struct BackupFolder {
  private let path: String
  private let environment: ServerEnvironment

  /// - Parameters:
  ///   - path: the folder, which must exist.
  ///   - environment: the clock; the system's unless given.
  public init(_ path: String, environment: ServerEnvironment = .system) {
    (self.path, self.environment) = (path, environment)
  }

  /// Writes a backup named by its time, verifies it, and then removes the oldest ones.
  ///
  /// Nothing is removed unless the new backup is good. Only files named by this function count and are removed.
  ///
  /// - Parameters:
  ///   - backup: the backup to write.
  ///   - count: the number of backups to keep, 1 or more.
  /// - Returns: the new file, the contents of the backup, and the files that were removed.
  /// - Throws: `ServerError`; what `Backup.write(to:)` throws.
  public func add(_ backup: Backup, keeping count: Int) throws -> (
    file: String, summary: Backup.Summary, removed: [String]
  ) {
    let file = "\(path)/\(Self.name(at: environment.now()))"
    let summary = try backup.write(to: file)
    _ = try Backup.verify(file)
    let names = try SnapshotCache.names(in: path).filter(Self.isOurs).sorted()
    let removed = names.dropLast(max(count, 1)).map { "\(path)/\($0)" }
    for old in removed where unlink(old) != 0 {
      throw ServerError(.unreachable, "\(old) can't be removed: \(systemMessage(errno)).")
    }
    return (file, summary, removed)
  }

  /// The name of a backup: its order is the order of time.
  private static func name(at milliseconds: Int64) -> String {
    let time = Timestamp.text(milliseconds: milliseconds).utf8.map {
      $0 == UInt8(ascii: ":") ? UInt8(ascii: "-") : $0
    }
    return "holdfast-\(String(decoding: time, as: UTF8.self)).backup"
  }

  private static func isOurs(_ name: String) -> Bool {
    guard name.hasPrefix("holdfast-"), name.hasSuffix(".backup") else { return false }
    let time = name.utf8.dropFirst("holdfast-".utf8.count).dropLast(".backup".utf8.count)
    return time.count >= 20
      && time.allSatisfy { (0x30...0x39).contains($0) || [0x2D, 0x2E, 0x54, 0x5A].contains($0) }
  }
}
