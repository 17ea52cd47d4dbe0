import Foundation
import HoldfastSQLite

/// A directory of its own for one test, gone when the test is.
final class TemporaryDatabase {
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("holdfast-sqlite-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  var path: String { path("test.sqlite") }

  func path(_ name: String) -> String { directory.appendingPathComponent(name).path }

  func open(
    _ access: SQLiteConnection.Access = .readWriteCreate, busyTimeout: Duration = .zero
  ) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, access: access, busyTimeout: busyTimeout)
    if access != .readOnly { try connection.execute("PRAGMA journal_mode = WAL") }
    try connection.execute("PRAGMA foreign_keys = ON")
    return connection
  }
}

/// The code of the `SQLiteError` that `body` throws; nil when it throws none.
func code(_ body: () throws -> Void) -> SQLiteError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? SQLiteError)?.code
  }
}
