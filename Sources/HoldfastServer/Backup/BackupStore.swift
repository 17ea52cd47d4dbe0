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
  /// Writes a backup named by its time, verifies it, and then removes the oldest ones.
  ///
  /// Nothing is removed unless the new backup is good and listed; the new one never is. Only names that this function makes count and are
  /// removed. A name of a later time is from a clock that was ahead, so it counts as older than all others.
  ///
  /// - Parameters:
  ///   - backup: the backup to write.
  ///   - count: the number of backups to keep, 1 or more.
  ///   - environment: the clock; the system's unless given.
  /// - Returns: the new backup, its contents, the backups that were removed, and what kept it from removing others.
  /// - Throws: what `put` and `names` throw; `ServerError` if the new backup is not listed.
  public func add(
    _ backup: Backup, keeping count: Int, environment: ServerEnvironment = .system
  ) throws -> (file: String, summary: Backup.Summary, removed: [String], failure: (any Error)?) {
    let name = BackupName.make(at: environment.now())
    let summary = try put(backup, as: name)
    // A store may list a name twice.
    let listed = TextSet(try names().filter(BackupName.isOne))
    guard listed.contains(name) else {
      throw ServerError(
        .damaged, "\(path(of: name)) was written, but is not listed. No older backup was removed.")
    }
    let others = listed.filter { $0 != name }.sorted()
    let (later, earlier) = (others.filter { $0 > name }, others.filter { $0 < name })
    var removed: [String] = []
    for old in (later + earlier).dropLast(max(count, 1) - 1) {
      // The new backup is good all the same.
      do { try remove(old) } catch { return (path(of: name), summary, removed, error) }
      removed.append(path(of: old))
    }
    return (path(of: name), summary, removed, nil)
  }
}

/// The names of backups: their order is the order of time.
private enum BackupName {
  static func make(at milliseconds: Int64) -> String {
    let time = Timestamp.text(milliseconds: milliseconds).utf8.map {
      $0 == UInt8(ascii: ":") ? UInt8(ascii: "-") : $0
    }
    return "holdfast-\(String(decoding: time, as: UTF8.self)).backup"
  }

  /// Whether `make` may have made a name.
  static func isOne(_ name: String) -> Bool {
    guard name.hasPrefix("holdfast-"), name.hasSuffix(".backup") else { return false }
    let time = name.utf8.dropFirst("holdfast-".utf8.count).dropLast(".backup".utf8.count)
    return time.count >= 20
      && time.allSatisfy { (0x30...0x39).contains($0) || [0x2D, 0x2E, 0x54, 0x5A].contains($0) }
  }
}
