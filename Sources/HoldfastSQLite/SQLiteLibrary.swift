internal import CSQLite

/// Settings of the SQLite library for the whole process.
public enum SQLiteLibrary {
  /// Lets SQLite allocate without counting, which costs a lock at each allocation.
  ///
  /// Must come before the first connection of the process; later it does nothing. For programs of our own: a library must
  /// not decide this for the app that it is in. Source: <https://www.sqlite.org/c3ref/c_config_covering_index_scan.html>.
  public static func disableMemoryStatistics() { _ = holdfast_disable_memory_statistics() }
}
