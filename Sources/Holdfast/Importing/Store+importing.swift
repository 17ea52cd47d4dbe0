import HoldfastCore
import HoldfastSQLite

extension Store {
  /// Imports the records of another SQLite file, such as the one that an app had before it used this library. The other file is not changed.
  ///
  /// The tables or views of the other file have the names of this schema's tables, and their columns those of its columns; `listID` is taken for
  /// `list_id`. A view renames whatever has another name. What is imported are ordinary edits: they are sent with the next sync.
  ///
  /// ```swift
  /// let report = try await store.importRecords(from: "old.sqlite", namespace: installation)
  /// for problem in report.problems { print(problem.table, problem.key, problem.reason) }
  /// ```
  ///
  /// The other file may be one of this library, such as that of an account that a restored server no longer knows. What comes then is what the user
  /// owned, with its ids, and with the edits that were not sent. Members, conflicts, the quarantine, public zones, and zones of others that this
  /// store's user may not write to are left out.
  ///
  /// An import can be repeated, also after a crash: a record that is in the store already stays as it is.
  ///
  /// - Parameters:
  ///   - path: the other file.
  ///   - namespace: a text of this app's data on this device, such as a UUID that the app keeps, or the name of the user. A key that is no UUID
  ///     becomes an id that is derived from the namespace, the table and the key.
  ///   - updating: whether records that are in the store get the values of the other file, where they differ.
  /// - Returns: how many records came, and what is wrong with the others.
  /// - Throws: `SQLiteError` when the file can't be read; `StoreError.valueUnfit` for a view without a column `id`.
  @discardableResult
  public func importRecords(from path: String, namespace: String, updating: Bool = false) async throws
    -> ImportReport
  {
    let writable = try await read { database in
      try database.fetch(String.self, "SELECT zone FROM holdfast_zones WHERE role IN ('owner', 'editor')")
    }
    let source = try SQLiteSource(path: path, schema: schema, writable: writable)
    var records = RecordImport(into: self, namespace: namespace, isUpdating: updating)
    for table in source.tables {
      try await source.read(table, batch: 500) { try await records.add($0) }
    }
    var report = try await records.finish()
    report.ignored = source.ignored
    report.problems += try source.recordsOfOthers()
    return report
  }
}
