// The app of the README: a shopping list that works in a subway.
import Foundation
import Holdfast

// snippet.app
struct Item: Record {
  static let table = "items"
  var id: String, list_id: String, title: String
  var done = false
  var position: String
}

func buy(_ title: String, on list: String, schema: Schema) async throws {
  let store = try Store(path: "shopping.db", schema: schema)
  let engine = SyncEngine(
    store: store, server: URL(string: "https://sync.example.org") ?? URL(fileURLWithPath: "/"))
  Task { await engine.run() }  // syncs at launch, after edits, on a timer and when the network is back
  try await store.write { db in
    let last = try db.first(
      String.self, "SELECT max(position) FROM items WHERE list_id = ? HAVING max(position) IS NOT NULL",
      [.text(list)])
    try db.insert(
      Item(id: db.newID(), list_id: list, title: title, position: try db.position(after: last, before: nil)))
  }
  for try await items in store.live(Item.self, "SELECT * FROM items WHERE NOT done ORDER BY position, id") {
    print(items.map(\.title))  // now, and after every change made here or anywhere
  }
}
// snippet.end
