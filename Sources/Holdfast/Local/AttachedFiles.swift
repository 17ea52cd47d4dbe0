import HoldfastCore
import HoldfastSQLite

/// The files of other databases that a reading connection reads together with its own. See docs/FOLDERS.md.
///
/// Temporary views hide the tables of the schema: each has the rows of all files, so that every query of an app reads all of them. Without another file
/// there are no views.
package final class AttachedFiles {
  /// One file.
  package struct File: Sendable {
    /// The name of the database, by which SQL may name the file.
    let name: String
    let path: String
  }

  /// Why a file is not read any more.
  package struct Loss: Error {
    let name: String
    let reason: StoreError
  }

  private let connection: SQLiteConnection
  private let schema: SyncSchema
  private let schemaText: String
  private let onLoss: (Loss) -> Void
  /// The names of the files that are read, in the order of the views.
  private(set) var names: [String] = []
  /// SQLite's numbers of the files' forms when they were last seen to be this schema's.
  private var knownForms: TextMap<Int64> = [:]

  /// Attaches files to a connection. One that can't be read is left out.
  ///
  /// - Parameter onLoss: is called, on the connection's thread, with each file that can't be read, now or later.
  init(
    _ files: [File], to connection: SQLiteConnection, schema: SyncSchema, schemaText: String, cacheSize: Int,
    onLoss: @escaping (Loss) -> Void
  ) throws {
    (self.connection, self.schema, self.schemaText) = (connection, schema, schemaText)
    self.onLoss = onLoss
    for file in files {
      do {
        try connection.run("ATTACH ? AS ?", [.text(file.path), .text(file.name)])
        names.append(file.name)
        try connection.execute(
          "PRAGMA \(SQLiteName.quoted(file.name)).cache_size = -\(max(64, cacheSize >> 10))")
        try connection.transaction(.deferred) { try check(file.name) }
      } catch { try leaveOut(Self.loss(of: file.name, error)) }
    }
    try makeViews()
  }

  /// Checks that each file is the one that was attached, and has the form of the schema. Begins the snapshot that the transaction sees of it.
  ///
  /// - Throws: `Loss`; `SQLiteError` when a file can't be looked at now.
  func check() throws { for name in names { try check(name) } }

  private func check(_ name: String) throws {
    do {
      let file = SQLiteName.quoted(name)
      let form = try connection.value("PRAGMA \(file).schema_version")?.integer
      try connection.checkPlace(ofAttached: name)
      if let form, form == knownForms[name] { return }
      let version = try connection.value("PRAGMA \(file).user_version")?.integer
      let stored = try connection.value("SELECT schema FROM \(file).holdfast_local")?.text ?? ""
      guard version == DeviceTables.formatVersion, stored.utf8.elementsEqual(schemaText.utf8) else {
        throw StoreError(
          .databaseIsNewer, "The file has another schema. Open it with the app of that schema.")
      }
      knownForms[name] = form
    } catch { throw try Self.loss(of: name, error) }
  }

  /// Runs `body`, which reads in a transaction of its own. When a file turns out to be lost, `body` runs again and reads the others.
  func leavingOutTheLost<T>(_ body: () throws -> T) throws -> T {
    while true {
      let count = names.count
      do { return try body() } catch let loss as Loss { try leaveOut(loss) } catch let error as SQLiteError
        where error.isDamage
      {
        for name in names { if let loss = try damage(of: name) { try leaveOut(loss) } }
        if names.count == count { throw error }
      }
    }
  }

  /// The damage of a file; nil when all of it can be read.
  private func damage(of name: String) throws -> Loss? {
    do {
      let found = try connection.value("PRAGMA \(SQLiteName.quoted(name)).quick_check(1)")
      if found == .text("ok") { return nil }
      return try Self.loss(of: name, SQLiteError(.corrupt, found?.text ?? "", statement: nil))
    } catch { return try Self.loss(of: name, error) }
  }

  /// Reads without a file from now on.
  private func leaveOut(_ loss: Loss) throws {
    let isReading = try connection.value("PRAGMA query_only") == .integer(1)
    try connection.execute("PRAGMA query_only = OFF")
    names.removeAll { $0 == loss.name }
    try makeViews()
    // It may not be there at all.
    try? connection.run("DETACH ?", [.text(loss.name)])
    if isReading { try connection.execute("PRAGMA query_only = ON") }
    onLoss(loss)
  }

  /// Columns are named, as files that came from other schemas have them in other orders.
  private func makeViews() throws {
    for table in schema.tables {
      let name = SQLiteName.quoted(table.name)
      try connection.execute("DROP VIEW IF EXISTS temp.\(name)")
      if names.isEmpty { continue }
      let columns = (["id", "zone", "rev"] + table.columns.map(\.name)).map(SQLiteName.quoted)
        .joined(separator: ", ")
      let parts = (["main"] + names).map { "SELECT \(columns) FROM \(SQLiteName.quoted($0)).\(name)" }
      try connection.execute("CREATE TEMP VIEW \(name) AS \(parts.joined(separator: " UNION ALL "))")
    }
  }

  /// - Throws: the error itself when it says nothing of the file: another program holds it, or what is under way is broken off.
  private static func loss(of name: String, _ error: any Error) throws -> Loss {
    switch error {
    case let loss as Loss: return loss
    case let error as StoreError: return Loss(name: name, reason: error)
    case let error as SQLiteError:
      if [.busy, .interrupt, .outOfMemory].contains(error.code.primary) { throw error }
      if error.isDamage { return Loss(name: name, reason: .damaged(error)) }
      return Loss(
        name: name,
        reason: StoreError(ofFile: error) ?? StoreError(.cannotOpen, "The file can not be read: \(error)"))
    default: throw error
    }
  }
}
