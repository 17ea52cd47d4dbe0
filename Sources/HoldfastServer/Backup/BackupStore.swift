import HoldfastCore
public import HoldfastService

/// A place for backups, of which the latest are kept: a folder, or another that a program brings; docs/RESTORING.md, section 1.
///
/// ```swift
/// let kept = try BackupFolder("/var/backups/holdfast").add(Backup(location), keeping: 14)
/// ```
public protocol BackupStore {
  /// Writes a backup, and reads it back to its end.
  ///
  /// - Parameter name: where nothing is yet.
  /// - Returns: the contents of the backup.
  /// - Throws: if the backup is not there whole.
  func put(_ backup: Backup, as name: String) throws -> Backup.Summary

  /// The names of all that is in the place, of backups and of others.
  func names() throws -> [String]

  /// Removes a backup.
  func remove(_ name: String) throws

  /// The name of a backup with that of the place.
  func path(of name: String) -> String
}

extension BackupStore {
  /// Writes a backup named by its time and by the epoch of the database, verifies it, and then removes the oldest ones of this epoch.
  ///
  /// Nothing is removed unless the new backup is good and listed; the new one never is. Only names that this function makes, of the same epoch,
  /// count and are removed. Another epoch is another history: of another database, of a copy of this one, or of this one before a restore, whose
  /// backups may have the only copy of what the restore lost. A name of a later time is from a clock that was ahead, so it counts as older than
  /// all others.
  ///
  /// - Parameters:
  ///   - backup: the backup to write.
  ///   - count: the number of backups to keep, 1 or more.
  ///   - environment: the clock; the system's unless given.
  /// - Throws: what `put` and `names` throw; `ServerError` if the new backup is not listed, and for a database that is a copy of the one that was
  ///   served.
  public func add(
    _ backup: Backup, keeping count: Int, environment: ServerEnvironment = .system
  ) throws -> StoredBackup {
    let name = BackupName(at: environment.now(), epoch: try backup.epoch())
    let summary = try put(backup, as: name.text)
    guard summary.epoch == name.epoch else {
      throw ServerError(
        .refused,
        """
        An epoch began when the backup did: \(path(of: name.text)) has the name of the one before. Take it again. No older backup was removed.
        """)
    }
    // A store may list a name twice.
    let listed = TextSet(try names()).compactMap { BackupName($0) }
    let own = listed.filter { $0.epoch == name.epoch }.map(\.text).sorted()
    guard own.contains(name.text) else {
      throw ServerError(
        .damaged, "\(path(of: name.text)) was written, but is not listed. No older backup was removed.")
    }
    let (later, earlier) = (own.filter { $0 > name.text }, own.filter { $0 < name.text })
    var removed: [String] = []
    var failure: (any Error)?
    for old in (later + earlier).dropLast(max(count, 1) - 1) {
      // The new backup is good all the same.
      do { try remove(old) } catch {
        failure = error
        break
      }
      removed.append(path(of: old))
    }
    return StoredBackup(
      path: path(of: name.text), summary: summary, removed: removed, others: listed.count - own.count,
      failure: failure)
  }
}
