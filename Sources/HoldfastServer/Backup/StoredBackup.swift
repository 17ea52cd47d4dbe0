/// A new backup in a store, and what became of the others there.
public struct StoredBackup {
  /// The name of the backup with that of the place.
  public let path: String
  /// The contents of the backup.
  public let summary: Backup.Summary
  /// The backups that were removed.
  public let removed: [String]
  /// The number of backups of other databases and of earlier epochs of this one, which are never removed.
  public let others: Int
  /// What kept older backups from being removed; nil for nothing.
  public let failure: (any Error)?
}
