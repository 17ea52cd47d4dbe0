import HoldfastTesting
import Testing

// The tests of docs/GUIDE.md. Groceries.swift is a link to the app in Snippets/.

/// The schema that `holdfast init` writes, as SwiftPM embeds it in an app.
enum PackageResources {
  static let holdfast_json = Array(
    """
    {"holdfast": 1, "name": "lists", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true, "max_length": 200}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "title": {"type": "text", "required": true},
        "done": {"type": "boolean", "required": true, "default": false},
        "note": {"type": "text"},
        "position": {"type": "position", "required": true}}}}}
    """.utf8)
}

// snippet.test
@Test("an item added without a network reaches the other device")
func addedOffline() async throws {
  let schema = try SyncSchema(json: PackageResources.holdfast_json)
  try await withTestWorld(schema: schema) { world in
    let phone = try await world.device(user: "ann")
    let laptop = try await world.device(user: "ann")
    phone.isConnected = false
    try await Groceries(store: phone.store, engine: phone.engine).add(["Milk", "Bread"])
    phone.isConnected = true
    try await world.settle()
    let app = Groceries(store: laptop.store, engine: laptop.engine)
    #expect(try await app.open() == ["Milk", "Bread"])
  }
}
// snippet.end

// snippet.trouble
@Test("a refused item is in quarantine, and the others arrive")
func refused() async throws {
  let schema = try SyncSchema(json: PackageResources.holdfast_json)
  try await withTestWorld(schema: schema, allowing: .quarantined) { world in
    let phone = try await world.device(user: "ann")
    let app = Groceries(store: phone.store, engine: phone.engine)
    world.server.refuse("items", because: "Nobody needs that.") { $0["title"] == "Dust" }
    try await app.add(["Milk"])
    try await app.add(["Dust"])
    world.network.fail(.answerLost)
    try await world.settle(allowing: .quarantined)
    #expect(try await app.open() == ["Milk"])
    let refused = try await phone.store.quarantined()
    #expect(refused.map { $0.problem?.code } == [.validationFailed])
  }
}
// snippet.end
