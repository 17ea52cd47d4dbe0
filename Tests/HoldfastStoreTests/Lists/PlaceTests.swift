import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

@Suite("Places in lists by REST")
struct PlaceTests {
  private let world: ListServer
  private let board: String
  private let group: String
  private var rest: RestClient { world.rest }

  init() throws {
    world = try ListServer()
    board = try world.board()
    group = try world.group(board)
  }

  private func cards(_ count: Int) throws -> [String] {
    try (0..<count).map { _ in try world.card(board, group, ["at": "last"]) }
  }

  @Test("a record is made first, last, before and after another (I7)")
  func places() throws {
    let ids = try cards(2)
    let first = try world.card(board, group, ["at": "first"])
    let after = try world.card(board, group, ["after": .string(ids[0])])
    let before = try world.card(board, group, ["before": .string(ids[0])])
    #expect(try world.order(group) == [first, before, ids[0], after, ids[1]])
    #expect(try world.server.findings().isEmpty)
  }

  @Test("PATCH and PUT move a record, also to another list, and its own place is no neighbour")
  func moves() throws {
    var ids = try cards(4)
    let other = try world.group(board)
    let there = try world.card(board, other, ["at": "first"])
    #expect(
      try rest.send(
        "PATCH", "/v1/tables/cards/\(ids[3])", ["columns": ["position": ["after": .string(ids[0])]]]
      )
      .status == 200)
    #expect(
      try rest.send(
        "PATCH", "/v1/tables/cards/\(ids[0])", ["columns": ["position": ["before": .string(ids[3])]]]
      )
      .status == 200)
    ids = [ids[0], ids[3], ids[1], ids[2]]
    #expect(try world.order(group) == ids)
    let away = try rest.send(
      "PUT", "/v1/tables/cards/\(ids[1])",
      ["columns": ListServer.card(board, other, ["after": .string(there)])])
    #expect(away.status == 200)
    #expect(try world.order(group) == [ids[0], ids[2], ids[3]])
    #expect(try world.order(other) == [there, ids[1]])
    let back = try rest.send(
      "PATCH", "/v1/tables/cards/\(there)",
      ["columns": ["group_id": .string(group), "position": ["at": "last"]]])
    #expect(back.status == 200)
    #expect(try world.order(group) == [ids[0], ids[2], ids[3], there])
  }

  @Test("operations of a batch see those before them, and none of one that is refused")
  func batches() throws {
    let ids = try cards(3)
    func create(_ id: String, _ position: JSONValue) -> JSONValue {
      [
        "op": "create", "table": "cards", "id": .string(id),
        "columns": ListServer.card(board, group, position),
      ]
    }
    func update(_ id: String, _ position: JSONValue) -> JSONValue {
      ["op": "update", "table": "cards", "id": .string(id), "columns": ["position": position]]
    }
    for atomic in [true, false] {
      let new = (0..<3).map { _ in world.alice.newID() }
      let reply = try rest.batch(
        [
          create(new[0], ["after": .string(ids[0])]), create(new[1], ["after": .string(new[0])]),
          update(ids[0], ["at": "last"]), create(new[2], ["after": .string(ids[0])]),
          ["op": "delete", "table": "cards", "id": .string(new[1])],
          update(ids[0], ["at": "first"]),
        ], atomic: atomic)
      #expect(reply.statuses == [201, atomic ? 200 : 201, 200, 201, 200, 200])
      let order = try world.order(group)
      #expect(
        order.filter { ids.contains($0) || new.contains($0) } == [ids[0], new[0], ids[1], ids[2], new[2]])
      #expect(order.first == ids[0])
    }
    let before = try world.order(group)
    let lost = world.alice.newID()
    let refused = try rest.batch([
      create(lost, ["at": "first"]), update(ids[1], ["after": .string("nobody")]),
    ])
    #expect(refused.status == 422)
    #expect(refused.json["errors"]?.elements?.first?["problem"]?["code"] == "invalid-value")
    #expect(try world.order(group) == before)
    // What was refused is no neighbour of the next, in one request.
    let mixed = try rest.batch(
      [create(lost, ["after": .string("nobody")]), create(world.alice.newID(), ["at": "first"])],
      atomic: false)
    #expect(mixed.statuses == [422, 201])
    #expect(try world.order(group).count == before.count + 1)
    #expect(try world.server.findings().isEmpty)
  }

  @Test("a thousand records made last in one request stand in the order of the request")
  func many() throws {
    let records = (0..<1000).map { _ -> JSONValue in
      ["columns": ListServer.card(board, group, ["at": "last"])]
    }
    let reply = try rest.send("POST", "/v1/tables/cards", ["records": .array(records), "atomic": true])
    let ids = reply.results.compactMap { $0["record"]?["id"]?.stringValue }
    #expect(ids.count == 1000)
    #expect(
      try world.alice.allIDs("/v1/tables/cards?where.group_id=\(group)&order=position&limit=1000") == ids)
    let lengths = reply.results.compactMap { $0["record"]?["columns"]?["position"]?.stringValue?.utf8.count }
    #expect(lengths.allSatisfy { $0 <= 14 })
  }

  @Test("a neighbour that is not in the list, gone, in another zone or itself is refused, and named (I10)")
  func strangers() throws {
    let ids = try cards(2)
    let other = try world.card(board, try world.group(board), ["at": "last"])
    let none = try world.card(board, nil, ["at": "last"])
    try rest.send("DELETE", "/v1/tables/cards/\(ids[1])")
    let bob = RestClient(try world.server.signUp("bob"))
    let foreign = try bob.create("boards", ["title": "Bob's"])
    let theirs = try bob.create("cards", ListServer.card(foreign, nil, ["at": "last"]))
    let unknown = world.alice.newID()
    var texts = TextSet()
    for id in [other, none, ids[1], theirs, unknown, ids[0]] {
      let reply = try rest.send(
        "PATCH", "/v1/tables/cards/\(ids[0])", ["columns": ["position": ["after": .string(id)]]])
      #expect(reply.status == 422)
      #expect(reply.code == "invalid-value")
      texts.insert(reply.json["detail"]?.stringValue?.replacing(id, with: "ID") ?? "")
    }
    #expect(texts.count == 1)
    // A list that the sender may not read is no list.
    let inTheirs = try rest.send(
      "POST", "/v1/tables/cards", ["columns": ListServer.card(foreign, nil, ["after": .string(theirs)])])
    #expect(inTheirs.status == 422)
    #expect(inTheirs.code == "invalid-value")
  }

  @Test("records that refer to none are a list, and so is a whole zone")
  func wholeZones() throws {
    let first = try world.card(board, nil, ["at": "last"])
    let last = try world.card(board, nil, ["after": .string(first)])
    _ = try cards(2)
    let loose = try world.alice.get("/v1/tables/cards?where.group_id.null=true&order=position").ids
    #expect(loose == [first, last])
    let marks = try ["first", "first", "last"].map {
      try rest.create("marks", ["position": ["at": .string($0)]])
    }
    let between = try rest.create("marks", ["position": ["before": .string(marks[0])]])
    _ = try rest.create("marks", ["title": "of no list"])
    #expect(
      try world.alice.get("/v1/tables/marks?where.position.null=false&order=position").ids
        == [marks[1], between, marks[0], marks[2]])
  }

  @Test("a place of another form is refused; a required position that is missing as well")
  func forms() throws {
    let places: [JSONValue] = [
      [:], ["at": "middle"], ["at": 1], ["after": 5], ["after": ""], ["next": "x"],
      ["at": "first", "after": "x"],
      ["before": .string(String(repeating: "x", count: 65))], ["after": "a\u{0}"], [["at": "first"]], "first",
    ]
    for place in places {
      let reply = try rest.send(
        "POST", "/v1/tables/cards", ["columns": ListServer.card(board, group, place)])
      #expect(reply.status == 422)
      #expect(reply.code == "invalid-value", "\(place)")
    }
    let missing = try rest.send(
      "POST", "/v1/tables/cards", ["columns": ["board_id": .string(board), "group_id": .string(group)]])
    #expect(missing.code == "value-missing")
    let title = try rest.send(
      "POST", "/v1/tables/boards", ["columns": ["title": ["at": "first"]]])
    #expect(title.code == "invalid-value")
  }

  @Test("beside one of several records with the same position is beside all of them (I7)")
  func ties() throws {
    let same = Position.between(nil, nil, replica: Position.Replica(random: 7), nonce: 0).string
    let tied = try (0..<3).map { _ in try world.card(board, group, .string(same)) }.sorted()
    let last = try world.card(board, group, ["at": "last"])
    let after = try world.card(board, group, ["after": .string(tied[0])])
    let before = try world.card(board, group, ["before": .string(tied[2])])
    #expect(try world.order(group) == [before] + tied + [after, last])
  }

  @Test("what a deleted record was to be set to is logged without its place; a restored one gets it (I8)")
  func deleted() throws {
    let ids = try cards(2)
    try rest.send("DELETE", "/v1/tables/cards/\(ids[1])")
    let late = try rest.send(
      "PATCH", "/v1/tables/cards/\(ids[1])",
      ["columns": ["title": "late", "position": ["after": .string(ids[0])]]])
    #expect(late.status == 410)
    let logged = try RestClient.conflicts(world.alice)
    #expect(logged.compactMap { $0["column_name"]?.stringValue } == ["title"])
    let back = try rest.send(
      "POST", "/v1/tables/cards/\(ids[1])/restore",
      ["columns": ListServer.card(board, group, ["before": .string(ids[0])])])
    #expect(back.status == 200 || back.status == 201)
    #expect(try world.order(group) == [ids[1], ids[0]])
    #expect(try world.server.findings().isEmpty)
  }

  @Test("a replayed request answers with the first place (I1)")
  func replay() throws {
    let ids = try cards(2)
    let body: JSONValue = ["columns": ListServer.card(board, group, ["after": .string(ids[0])])]
    let first = try rest.send("POST", "/v1/tables/cards", body, id: "one")
    let again = try rest.send("POST", "/v1/tables/cards", body, id: "one")
    #expect(again.isReplay)
    #expect(first.body == again.body)
    #expect(try world.order(group).count == 3)
  }
}
