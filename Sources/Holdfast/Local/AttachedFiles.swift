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
  private let problem: (String) -> StoreError?
  private let onLoss: (Loss) -> Void
  /// The names of the files that are read, in the order of the views.
  private(set) var names: [String] = []
  /// SQLite's numbers of the files' forms when they were last seen to be this schema's.
  private var knownForms: TextMap<Int64> = [:]

  /// Attaches files to a connection. One that can't be read is left out.
  ///
  /// - Parameters:
  ///   - cacheSize: how many bytes of each file the connection may keep in memory.
  ///   - problem: why a file is not to be read, as another connection has found.
  ///   - onLoss: is called, on the connection's thread, with each file that can't be read, now or later.
  init(
    _ files: [File], to connection: SQLiteConnection, schema: SyncSchema, schemaText: String, cacheSize: Int,
    problem: @escaping (String) -> StoreError?, onLoss: @escaping (Loss) -> Void
  ) throws {
    (self.connection, self.schema, self.schemaText) = (connection, schema, schemaText)
    (self.problem, self.onLoss) = (problem, onLoss)
    let pragma = "cache_size = -\(max(64, cacheSize >> 10))"
    if !files.isEmpty { try connection.execute("PRAGMA main.\(pragma)") }
    for file in files {
      do {
        try connection.run("ATTACH ? AS ?", [.text(file.path), .text(file.name)])
        names.append(file.name)
        try connection.execute("PRAGMA \(SQLiteName.quoted(file.name)).\(pragma)")
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
      if let reason = problem(name) { throw Loss(name: name, reason: reason) }
      let file = SQLiteName.quoted(name)
      let form = try connection.value("PRAGMA \(file).schema_version")?.integer
      try connection.checkPlace(ofAttached: name)
      if let form, form == knownForms[name] { return }
      let version = try connection.value("PRAGMA \(file).user_version")?.integer
      try DeviceTables.checkRemains(version)
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
      do { return try body() } catch let loss as Loss { try leaveOut(loss) } catch let error as SQLiteError
        where error.isDamage && !names.isEmpty
      { return try leavingOutTheDamaged(error, body) }
    }
  }

  /// Runs `body` on this file alone, and then with one more of the others each time: one with which it fails is lost. SQLite's own check would read all of
  /// each file, and says nothing of an index that does not fit its table.
  private func leavingOutTheDamaged<T>(_ error: SQLiteError, _ body: () throws -> T) throws -> T {
    let all = names
    var losses: [Loss] = []
    do {
      try show([])
      var result = try body()
      var whole: [String] = []
      for name in all {
        try show(whole + [name])
        do {
          result = try body()
          whole.append(name)
        } catch let loss as Loss { losses.append(loss) } catch let error as SQLiteError where error.isDamage {
          losses.append(Loss(name: name, reason: .damaged(error)))
        }
      }
      try show(all)
      for loss in losses { try leaveOut(loss) }
      return result
    } catch let other {
      // Home's own, or what is under way is broken off.
      try show(all)
      if (other as? SQLiteError)?.isDamage == true { throw error }
      throw other
    }
  }

  /// Reads without a file from now on.
  private func leaveOut(_ loss: Loss) throws {
    try show(names.filter { $0 != loss.name })
    // It may not be there at all.
    try? connection.run("DETACH ?", [.text(loss.name)])
    onLoss(loss)
  }

  /// Reads these files from now on.
  private func show(_ names: [String]) throws {
    let isReading = try connection.value("PRAGMA query_only") == .integer(1)
    if isReading { try connection.execute("PRAGMA query_only = OFF") }
    self.names = names
    try makeViews()
    if isReading { try connection.execute("PRAGMA query_only = ON") }
  }

  /// Columns are named, as files that came from other schemas have them in other orders.
  private func makeViews() throws {
    for table in schema.tables {
      let name = SQLiteName.quoted(table.name)
      try connection.execute("DROP VIEW IF EXISTS temp.\(name)")
      if names.isEmpty { continue }
      let columns = (["id", "zone", "rev"] + table.columns.map(\.name)).map(SQLiteName.quoted)
        .joined(separator: ", ")
      let rows = (["main"] + names).map { "SELECT \(columns) FROM \(SQLiteName.quoted($0)).\(name)" }
        .joined(separator: " UNION ALL ")
      try connection.execute("CREATE TEMP VIEW \(name) AS \(rows)")
    }
  }

  /// - Throws: the error itself when it says nothing of the file: another program holds it, or what is under way is broken off.
  private static func loss(of name: String, _ error: any Error) throws -> Loss {
    switch error {
    case let loss as Loss: return loss
    case let error as StoreError: return Loss(name: name, reason: error)
    case let error as SQLiteError:
      if [.busy, .interrupt, .outOfMemory, .lockRace].contains(error.code.primary) { throw error }
      if error.isDamage { return Loss(name: name, reason: .damaged(error)) }
      return Loss(
        name: name,
        reason: StoreError(ofFile: error) ?? StoreError(.cannotOpen, "The file can not be read: \(error)"))
    default: throw error
    }
  }
}
