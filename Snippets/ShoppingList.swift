// The app of the README: a shopping list that works in a subway.
import Foundation
import Holdfast

// snippet.app
struct Item: Record {
  static let table = "items"
  var id: String, list_id: String, title: String, done = false, position = ""
}

func buy(_ title: String, on list: String, schema: SyncSchema, server: URL) async throws {
  let store = try Store(path: "shopping.db", schema: schema)
  let engine = SyncEngine(store: store, server: server)
  Task { await engine.run() }  // syncs at launch, after edits, on a timer and when the network is back
  try await store.write { db in  // with a network or without
    try db.insert([Item(id: db.newID(), list_id: list, title: title)], at: .last)
  }
  for try await items in store.live(Item.self, "SELECT * FROM items ORDER BY position, id") {
    print(items.map(\.title))  // now, and after every change made here or anywhere
  }
}
// snippet.end
