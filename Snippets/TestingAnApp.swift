// A test of an app: two phones edit offline. In a test target it stands in a function with @Test, and ends with #expect.
import HoldfastTesting

struct ShoppingItem: Record {
  static let table = "items"
  var id: String, list_id: String, title: String, position = ""
}

// snippet.test
func twoPhonesEditOffline(schema: SyncSchema, list: String) async throws {
  try await withTestWorld(schema: schema) { world in
    let phone = try await world.device(user: "ann")
    let tablet = try await world.device(user: "ann")
    world.network.isConnected = false
    for (device, title) in [(phone, "Milk"), (tablet, "Bread")] {
      try await device.store.write { db in
        try db.insert([ShoppingItem(id: db.newID(), list_id: list, title: title)], at: .last)
      }
    }
    world.network.isConnected = true
    try await world.settle()
    let items = try await tablet.store.read { try $0.fetch(ShoppingItem.self, "SELECT * FROM items") }
    precondition(items.count == 2)
  }
}
// snippet.end
