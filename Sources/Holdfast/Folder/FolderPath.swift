import Foundation
import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// Where the files of a folder are.
struct FolderPath: Sendable {
  let folder: String

  var list: String { folder + "/folder.db" }

  /// A file that is written behind each change of the list, for those who watch it. Nobody may open the list itself to watch it: when a process closes
  /// any descriptor of a database, all its locks on it end. Source: <https://www.sqlite.org/howtocorrupt.html>, section 2.2.
  var changes: String { folder + "/folder.changes" }

  func file(of database: String) -> String { "\(folder)/\(database).db" }

  /// Whether a folder may have a database of this name.
  static func isDatabase(_ name: String) -> Bool { name == DatabaseName.home || DatabaseName.isValid(name) }

  /// The databases whose files are there, by name.
  func databases() -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let names = files.filter { $0.hasSuffix(".db") }.map { String($0.dropLast(3)) }
    return names.filter { name in
      guard Self.isDatabase(name), let form = form(of: name) else { return false }
      return form.application == DeviceTables.applicationID && form.version != DeviceTables.removedVersion
    }.sorted()
  }

  /// Whether a database has a file that has not left.
  func hasFile(_ database: String) -> Bool {
    System.exists(file(of: database)) && !isEmptied(database)
  }

  /// Whether a database has a file that has left: it is empty, and nobody may open it.
  func isEmptied(_ database: String) -> Bool { form(of: database)?.version == DeviceTables.removedVersion }

  /// What the file of a database says of itself; nil when it can't be read.
  private func form(of database: String) -> (application: Int64?, version: Int64?)? {
    guard
      let connection = try? SQLiteConnection(
        path: file(of: database), access: .readOnly, busyTimeout: .zero),
      let application = try? connection.value("PRAGMA application_id"),
      let version = try? connection.value("PRAGMA user_version")
    else { return nil }
    return (application.integer, version.integer)
  }

  /// Removes a database's file and what is beside it, unless it is another program's. The file goes first: without it the others are nothing.
  ///
  /// - Throws: `StoreError.cannotOpen` when it is still there.
  func remove(_ database: String) throws {
    if let form = form(of: database), form.application != DeviceTables.applicationID { return }
    let file = file(of: database)
    System.remove(file)
    if System.exists(file) {
      throw StoreError(.cannotOpen, "\(file) can not be removed. Allow this user to write in its folder.")
    }
    for suffix in ["-wal", "-shm"] { System.remove(file + suffix) }
    for suffix in ["-pages", "-snapshots"] { try? FileManager.default.removeItem(atPath: file + suffix) }
    System.syncFolder(folder)
  }

  /// Tells those who watch that the list has changed.
  func announceChange() {
    PrivateFile.makeDatabase(changes)
    guard let file = FileHandle(forWritingAtPath: changes) else { return }
    try? file.write(contentsOf: Data([0]))
    try? file.close()
  }
}
