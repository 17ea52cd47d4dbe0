import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// What a stretch without a network comes down to: one batch that inserts, deletes and reorders the terms of a study set.
@Suite struct StudySetTests {
  private static let schema = """
    {"holdfast": 1, "name": "study", "tables": {
      "sets": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
      "terms": {"zone": {"parent": "set_id"}, "columns": {
        "set_id": {"type": "reference", "to": "sets", "required": true, "on_delete": "cascade"},
        "term": {"type": "text", "required": true}, "position": {"type": "position", "required": true}}}
    }}
    """

  @Test(
    "terms that were inserted, deleted and moved in one batch stand in the order that was meant, on every device (I6, I7)"
  )
  func batch() throws {
    let server = try TestServer(try SyncSchema(json: Array(Self.schema.utf8)))
    let alice = try server.signUp("alice")
    let bob = try server.signUp("bob")
    let rest = RestClient(alice)
    let set = try rest.create("sets", ["title": "Fruit"])
    let member = try rest.send(
      "POST", "/v1/tables/members", ["zone": .string(set), "columns": ["name": "bob", "role": "editor"]])
    try server.accept(member.id, by: "bob")
    let replica = Position.Replica(random: 1)
    var places: [Position] = []
    func place(after left: Position?, before right: Position?) -> Position {
      let nonce = server.world.random(8).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
      return Position.between(left, right, replica: replica, nonce: nonce)
    }
    for _ in 0..<5 { places.append(place(after: places.last, before: nil)) }
    let names = ["apple", "pear", "plum", "fig", "kiwi"]
    let made = try rest.batch(
      zip(names, places).map { name, place in
        [
          "op": "create", "table": "terms",
          "columns": ["set_id": .string(set), "term": .string(name), "position": .string(place.string)],
        ]
      })
    let ids = made.results.compactMap { $0["record"]?["id"]?.stringValue }
    #expect(ids.count == 5)
    // kiwi first, plum gone, melon between apple and pear, lime behind fig; fig gets another name.
    let melon = place(after: places[0], before: places[1])
    let first = place(after: nil, before: places[0])
    let last = place(after: places[4], before: nil)
    let done = try rest.batch([
      [
        "op": "create", "table": "terms",
        "columns": ["set_id": .string(set), "term": "melon", "position": .string(melon.string)],
      ],
      ["op": "delete", "table": "terms", "id": .string(ids[2])],
      [
        "op": "update", "table": "terms", "id": .string(ids[4]), "rev": 1,
        "columns": ["position": .string(first.string)],
      ],
      [
        "op": "create", "table": "terms",
        "columns": ["set_id": .string(set), "term": "lime", "position": .string(last.string)],
      ],
      ["op": "update", "table": "terms", "id": .string(ids[3]), "rev": 1, "columns": ["term": "figs"]],
    ])
    #expect(done.statuses == [201, 200, 200, 201, 200])
    for device in [alice, bob] {
      try device.pull()
      let terms = device.all("terms").sorted { left, right in
        (left["position"]?.stringValue ?? "").utf8.lexicographicallyPrecedes(
          (right["position"]?.stringValue ?? "").utf8)
      }
      #expect(terms.map { $0["term"] } == ["kiwi", "apple", "melon", "pear", "figs", "lime"])
    }
    #expect(try server.findings().isEmpty)
  }
}
