// The examples of docs/MIGRATING.md.
import Foundation
import Holdfast

func installationID() -> String { "installation" }

// snippet.file
func openStore(schema: SyncSchema, folder: URL) async throws -> Store {
  let store = try Store(path: folder.appending(path: "app.holdfast").path, schema: schema)
  let old = folder.appending(path: "app.sqlite").path
  guard FileManager.default.fileExists(atPath: old) else { return store }
  let report = try await store.importRecords(from: old, namespace: installationID())
  for problem in report.problems { print(problem.table, problem.key, problem.reason) }
  if report.problems.isEmpty { try FileManager.default.removeItem(atPath: old) }
  return store
}
// snippet.end

struct Item: Record {
  static let table = "items"
  var id: String, list_id: String, title: String
}

struct Row { var key: String, title: String }

func write(_ row: Row, list: String, in store: Store) async throws {
  // snippet.rows
  let id = Identifier.derived(from: ["old-system", "items", row.key])
  try await store.write { db in
    if try db.find(Item.self, id: id) == nil {
      try db.insert(Item(id: id, list_id: list, title: row.title))
    }
  }
  // snippet.end
}
