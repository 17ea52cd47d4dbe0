internal import CSQLite

/// Settings of the SQLite library for the whole process.
package enum SQLiteLibrary {
  /// Disables SQLite's memory statistics, which cost a lock at each allocation.
  ///
  /// Call it before the first connection of the process; later it does nothing. It is for Holdfast's own programs: a library must not
  /// decide this for its app. Source: <https://www.sqlite.org/c3ref/c_config_covering_index_scan.html>.
  package static func disableMemoryStatistics() { _ = holdfast_disable_memory_statistics() }
}
