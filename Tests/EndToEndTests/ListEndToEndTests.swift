import Dispatch
import Foundation
import Holdfast
import Synchronization
import Testing

@Suite("Lists on several devices and a server")
struct ListEndToEndTests {
  @Test("sixteen programs that put a record behind the same one at once get sixteen places behind it (I7)")
  func concurrentPlaces() throws {
    let scene = try Scene()
    let token = try RestConnection.signUp("ann", port: scene.server.port)
    let connection = try RestConnection(port: scene.server.port, token: token)
    func create(_ table: String, _ columns: JSONValue) throws -> String {
      let answer = try connection.send("POST", "/v1/tables/\(table)", ["columns": columns])
      return try #require(answer.json["id"]?.stringValue)
    }
    let list = try create("lists", ["title": "Home"])
    func item(_ position: JSONValue) -> JSONValue {
      ["list_id": .string(list), "title": "x", "position": position]
    }
    let first = try create("items", item(["at": "first"]))
    let last = try create("items", item(["at": "last"]))
    let body: JSONValue = ["columns": item(["after": .string(first)])]
    let places = Mutex<[String: String]>([:])
    let faults = Mutex<[String]>([])
    let group = DispatchGroup()
    let port = scene.server.port
    for number in 0..<16 {
      DispatchQueue(label: "program \(number)").async(group: group) {
        do {
          let connection = try RestConnection(port: port, token: token)
          let answer = try connection.insist("POST", "/v1/tables/items", body, id: "create \(number)")
          guard answer.status == 201, let id = answer.json["id"]?.stringValue,
            let place = answer.json["columns"]?["position"]?.stringValue
          else { return faults.withLock { $0.append("\(answer.status)") } }
          places.withLock { $0[id] = place }
        } catch { faults.withLock { $0.append("\(error)") } }
      }
    }
    group.wait()
    #expect(faults.withLock { $0 } == [])
    let made = places.withLock { $0 }
    #expect(made.count == 16 && Set(made.values).count == 16)
    let all = try connection.send(
      "GET", "/v1/tables/items?where.list_id=\(list)&order=position&rank=position")
    let records = all.json["records"]?.elements ?? []
    #expect(records.compactMap { $0["rank"]?.integerValue } == Array(1...18))
    let ids = records.compactMap { $0["id"]?.stringValue }
    #expect(ids.first == first && ids.last == last && Set(ids.dropFirst().dropLast()) == Set(made.keys))
    try scene.server.database().expectSound()
  }

  @Test("an item that two people move at once is in one place, once, on all devices (I7)")
  func movedByTwo() async throws {
    let scene = try Scene()
    let ann = try await scene.signUp("ann", on: "phone")
    let bob = try await scene.signUp("bob", on: "tablet")
    let (lists, ids) = try await ann.store.write { db in
      let lists = [db.newID(), db.newID()]
      for list in lists {
        try db.execute("INSERT INTO lists (id, title) VALUES (?, 'List')", [.text(list)])
        try db.execute("INSERT INTO members (zone, name, role) VALUES (?, 'bob', 'editor')", [.text(list)])
      }
      let rows = (0..<6).map { Row(id: db.newID(), list_id: lists[0], title: "item \($0)", position: "") }
      try db.insert(rows, at: .last)
      return (lists, rows.map(\.id))
    }
    try await ann.engine.sync()
    try await bob.acceptAll()
    try await ann.engine.sync()
    // Both move the same item: within the list, and to the other; and one a block, the other a member of it.
    try await ann.store.write { db in
      try db.move(Row.self, ids: [ids[0]], to: .last)
      try db.move(Row.self, ids: [ids[1], ids[2], ids[3]], to: .first)
    }
    try await bob.store.write { db in
      try db.move(Row.self, ids: [ids[0]], to: .first, in: lists[1])
      try db.move(Row.self, ids: [ids[2]], to: .after(ids[5]))
    }
    // And one renews the list meanwhile.
    try await ann.store.write { try $0.renew(Row.self, in: lists[0]) }
    for device in [bob, ann, bob, ann] { try await device.engine.sync() }
    let query = "SELECT id FROM items ORDER BY list_id, position, id"
    let orders = [
      try await ann.store.read { try $0.fetch(String.self, query) },
      try await bob.store.read { try $0.fetch(String.self, query) },
    ]
    #expect(orders[0] == orders[1])
    #expect(orders[0].sorted() == ids.sorted())
    let truth = try scene.server.database().contents(scene.schema)
    for device in [ann, bob] {
      #expect(try device.contents(scene.schema) == truth)
      #expect(try await device.store.quarantined().isEmpty)
    }
  }
}
