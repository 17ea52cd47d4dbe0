import HoldfastCore
import ServerScenes
import Testing

/// References, uniqueness, deletes that take others along, and moves. Invariants I6, I9.
@Suite struct RelationTests {
  let server: TestServer
  let alice: TestDevice
  let phone: TestDevice
  let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    phone = try server.signIn("alice")
    list = try alice.makeList()
  }

  private func settle() throws {
    try alice.pull()
    try phone.pull()
    #expect(alice.records == phone.records)
    #expect(try server.findings().isEmpty)
  }

  @Test("a child may stand before its parent in one set (child before parent)")
  func childFirst() throws {
    let (parent, child, seal) = (alice.newID(), alice.newID(), alice.newID())
    let answer = try alice.sync([
      .create("seals", seal, ["item_id": .string(child)]),
      .create("items", child, ["list_id": .string(parent), "title": "Child"]),
      .create("lists", parent, ["title": "Parent"]),
    ])
    #expect(answer.refused.isEmpty)
    #expect(alice.records["seals \(seal)"]?.zone == parent)
    try settle()
  }

  @Test("a root and its child may refer to each other, in each order, also when they are made again (I9)")
  func circle() throws {
    let schema = try SyncSchema(
      name: "trees",
      tables: [
        TableSchema(
          "trees", zone: .root,
          columns: [ColumnSchema("main", .reference, reference: Reference(to: "nodes", onDelete: .setNull))]),
        TableSchema(
          "nodes", zone: .parent("tree"),
          columns: [
            ColumnSchema(
              "tree", .reference, required: true, reference: Reference(to: "trees", onDelete: .cascade)),
            ColumnSchema("next", .reference, reference: Reference(to: "nodes", onDelete: .setNull)),
          ]),
      ])
    let alice = try TestServer(schema).signUp("alice")
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let (tree, first, second) = (alice.newID(), alice.newID(), alice.newID())
      let creates: [Sent] = [
        .create("trees", tree, ["main": .string(first)]),
        .create("nodes", first, ["tree": .string(tree), "next": .string(second)]),
        .create("nodes", second, ["tree": .string(tree), "next": .string(first)]),
      ]
      for _ in 0..<2 {
        #expect(try alice.sync(order.map { creates[$0] }).refused.isEmpty, "\(order)")
        try alice.pull()
        #expect(alice.column("trees", tree, "main") == .string(first))
        #expect(alice.column("nodes", first, "next") == .string(second))
        #expect(alice.column("nodes", second, "next") == .string(first))
        // The second time they are made again.
        #expect(try alice.sync([.delete("trees", tree)]).refused.isEmpty)
        try alice.pull()
      }
    }
  }

  @Test("a member may stand before the list in one set (child before parent)")
  func memberBeforeList() throws {
    let bob = try server.signUp("bob")
    let (other, member) = (alice.newID(), alice.newID())
    let answer = try alice.sync([
      .create("members", member, ["zone": .string(other), "name": "bob", "role": "editor"]),
      .create("lists", other, ["title": "Both"]),
    ])
    #expect(answer.refused.isEmpty)
    try server.accept(member, by: "bob")
    try bob.pull()
    #expect(bob.has("lists", other))
    try settle()
  }

  @Test("a delete takes its children along, each with a tombstone of its own (I9)")
  func cascade() throws {
    let item = try alice.makeItem(list)
    try phone.pull()
    try alice.sync([.delete("lists", list)])
    try settle()
    #expect(!phone.has("lists", list))
    #expect(!phone.has("items", item))
  }

  @Test("the records that a deletion changes get their seqs in the order of their ids, on each engine alike")
  func orderOfFollowers() throws {
    let tag = alice.newID()
    let items = (0..<6).map { _ in alice.newID() }.sorted()
    try alice.sync(
      [.create("tags", tag, ["list_id": .string(list), "name": "cold"])]
        + [3, 5, 0, 4, 1, 2].map {
          .create("items", items[$0], ["list_id": .string(list), "title": "x", "tag_id": .string(tag)])
        })
    try alice.sync([.delete("tags", tag)])
    let changes = try RestClient(alice).get("/v1/zones/\(list)/changes").json["changes"]?.elements ?? []
    let changed = changes.filter { $0["table"] == "items" }.compactMap { $0["id"]?.stringValue }
    #expect(changed == items)
    try settle()
  }

  @Test("a set null reference becomes null when its parent goes (I9)")
  func setNull() throws {
    let (tag, item) = (alice.newID(), alice.newID())
    try alice.sync([
      .create("tags", tag, ["list_id": .string(list), "name": "cold"]),
      .create("items", item, ["list_id": .string(list), "title": "Milk", "tag_id": .string(tag)]),
    ])
    try alice.sync([.delete("tags", tag)])
    try settle()
    #expect(alice.column("items", item, "tag_id") == .null)
    #expect(alice.records["items \(item)"]?.rev == 2)
  }

  @Test("a set null reference from another zone becomes null as well (I9)")
  func setNullAcross() throws {
    let note = alice.newID()
    try alice.sync([.create("notes", note, ["text": "see", "list_id": .string(list)])])
    try alice.sync([.delete("lists", list)])
    try settle()
    #expect(alice.column("notes", note, "list_id") == .null)
  }

  @Test("a restricting child keeps its parent, also from a cascade; in one set both may go")
  func restrict() throws {
    let item = try alice.makeItem(list)
    let seal = alice.newID()
    try alice.sync([.create("seals", seal, ["item_id": .string(item)])])
    #expect(try alice.refused(.delete("items", item)).code == .referenceRestricted)
    #expect(try alice.refused(.delete("lists", list)).code == .referenceRestricted)
    try settle()
    #expect(alice.has("items", item))
    #expect(try alice.sync([.delete("items", item), .delete("seals", seal)]).refused.isEmpty)
    try settle()
    #expect(!alice.has("items", item))
  }

  @Test("a reference to nothing, or into another zone, is refused (I9)")
  func missing() throws {
    let other = try alice.makeList("Other")
    let tag = alice.newID()
    try alice.sync([.create("tags", tag, ["list_id": .string(other), "name": "cold"])])
    func create(_ tag: String) throws -> ProblemCode {
      try alice.refused(
        .create("items", alice.newID(), ["list_id": .string(list), "title": "x", "tag_id": .string(tag)])
      ).code
    }
    #expect(try create(tag) == .referenceMissing)
    #expect(try create(alice.newID()) == .referenceMissing)
    let item = try alice.makeItem(list)
    #expect(try alice.refused(.update("items", item, ["tag_id": .string(tag)])).code == .referenceMissing)
    #expect(
      try alice.refused(.update("items", item, ["list_id": .string(alice.newID())])).code == .referenceMissing
    )
    try settle()
  }

  @Test("a unique value that is taken is refused by the names of its columns, in its zone alone (I12)")
  func unique() throws {
    let other = try alice.makeList("Other")
    func tag(_ list: String) -> Sent {
      .create("tags", alice.newID(), ["list_id": .string(list), "name": "cold"])
    }
    try alice.sync([tag(list)])
    let problem = try alice.refused(tag(list))
    #expect(problem.code == .uniqueTaken)
    #expect(problem.detail == "tags: name")
    #expect(try alice.sync([tag(other)]).refused.isEmpty)
    try settle()
  }

  @Test("a record moves to another zone with all under it, and leaves a departure (record moved)")
  func move() throws {
    let other = try alice.makeList("Other")
    let item = try alice.makeItem(list)
    let seal = alice.newID()
    try alice.sync([.create("seals", seal, ["item_id": .string(item)])])
    try settle()
    #expect(
      try alice.sync([.update("items", item, ["list_id": .string(other)], base: ["list_id": .string(list)])])
        .refused.isEmpty)
    try settle()
    #expect(phone.records["items \(item)"]?.zone == other)
    #expect(phone.records["seals \(seal)"]?.zone == other)
    try alice.sync([
      .update("items", item, ["list_id": .string(list)], rev: 2, base: ["list_id": .string(other)])
    ])
    try settle()
    #expect(phone.records["items \(item)"]?.zone == list)
  }

  @Test("who sees only the old zone of a moved record loses it, who sees only the new one gets it (I10)")
  func moveSeen() throws {
    let (bob, carol) = (try server.signUp("bob"), try server.signUp("carol"))
    let other = try alice.makeList("Other")
    let item = try alice.makeItem(list)
    _ = try alice.share(list, with: "bob")
    _ = try alice.share(other, with: "carol")
    try bob.pull()
    try carol.pull()
    #expect(bob.has("items", item))
    try alice.sync([.update("items", item, ["list_id": .string(other)])])
    try bob.pull()
    try carol.pull()
    #expect(!bob.has("items", item))
    #expect(carol.has("items", item))
    try settle()
  }

  @Test("a move takes rights in both zones, and none into a zone that is not seen")
  func moveRights() throws {
    let bob = try server.signUp("bob")
    let item = try alice.makeItem(list)
    _ = try alice.share(list, with: "bob")
    let (hidden, read) = (try alice.makeList("Hidden"), try alice.makeList("Read"))
    _ = try alice.share(read, with: "bob", as: .viewer)
    #expect(try bob.refused(.update("items", item, ["list_id": .string(hidden)])).code == .referenceMissing)
    #expect(try bob.refused(.update("items", item, ["list_id": .string(read)])).code == .roleInsufficient)
    try settle()
  }

  @Test("a move that would leave a reference between two zones is refused (I9)")
  func moveWithTag() throws {
    let other = try alice.makeList("Other")
    let (tag, item) = (alice.newID(), alice.newID())
    try alice.sync([
      .create("tags", tag, ["list_id": .string(list), "name": "cold"]),
      .create("items", item, ["list_id": .string(list), "title": "Milk", "tag_id": .string(tag)]),
    ])
    #expect(try alice.refused(.update("items", item, ["list_id": .string(other)])).code == .referenceMissing)
    #expect(try alice.refused(.update("tags", tag, ["list_id": .string(other)])).code == .referenceRestricted)
    let both: [Sent] = [
      .update("items", item, ["list_id": .string(other)]), .update("tags", tag, ["list_id": .string(other)]),
    ]
    #expect(try alice.sync(both).refused.isEmpty)
    try settle()
  }

  @Test("a deleted root can be restored by its owner, zone and all (I8)")
  func restoreRoot() throws {
    try alice.sync([.delete("lists", list, at: Stamp(milliseconds: 5000))])
    try phone.pull()
    let back = try alice.sync([.create("lists", list, ["title": "Back"], at: Stamp(milliseconds: 6000))])
    #expect(back.refused.isEmpty)
    try settle()
    #expect(phone.column("lists", list, "title") == "Back")
  }

  @Test("who may not create in a zone can't take its deleted records elsewhere by restoring them (I10)")
  func restoreElsewhere() throws {
    let bob = try server.signUp("bob")
    let item = try alice.makeItem(list)
    _ = try alice.share(list, with: "bob", as: .viewer)
    try alice.sync([.delete("items", item)])
    let own = try bob.makeList("Bob's")
    let restore = Sent.create(
      "items", item, ["list_id": .string(own), "title": "Mine now"],
      at: Stamp(milliseconds: server.world.now))
    #expect(try bob.refused(restore).code == .roleInsufficient)
    #expect(
      try alice.sync([
        .create(
          "items", item, ["list_id": .string(list), "title": "Back"],
          at: Stamp(milliseconds: server.world.now))
      ]).refused.isEmpty)
    try settle()
    #expect(phone.column("items", item, "title") == "Back")
  }
}
