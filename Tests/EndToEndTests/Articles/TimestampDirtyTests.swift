import Foundation
import Holdfast
import HoldfastCore
import Testing

/// An algorithm of two columns, Ts and Dirty, that a client of any language runs over REST.
///
/// What it takes: a number that the server gives to every create, update and delete, which is no time; a mark on what was changed here and not
/// yet sent; first the download of what is new behind the last number, then the upload of creates and updates, whose answers have
/// the new number; deleted records that are marked, and passed over by a first download; parents before children.
///
/// What was left open: the greatest number here is not what was read last. Who uploads gets one that is greater than those of others that came in
/// between, and never asks for them. A dirty record that also changed on the server is replaced by the server's, and an edit that was made while
/// the upload was on its way is unmarked with it.
@Suite("Ts and Dirty")
struct TimestampDirtyTests {
  private static func schema() throws -> SyncSchema {
    let text = """
      {"holdfast": 1, "name": "shop", "tables": {
        "shops": {"zone": "root", "columns": {"name": {"type": "text", "required": true}}},
        "orders": {"zone": {"parent": "customer_id"}, "columns": {
          "customer_id": {"type": "reference", "to": "customers", "required": true, "on_delete": "cascade"},
          "what": {"type": "text", "required": true}}},
        "customers": {"zone": {"parent": "shop_id"}, "columns": {
          "shop_id": {"type": "reference", "to": "shops", "required": true, "on_delete": "cascade"},
          "name": {"type": "text", "required": true}, "phone": {"type": "text"},
          "city": {"type": "text", "merge": "server"}}}
      }}
      """
    return try SyncSchema(json: Array(text.utf8))
  }

  @Test(
    "a client of the algorithm and a device of the library exchange everything, and neither loses an edit or misses a change (I3, I4, I7, I9)"
  )
  func exchange() async throws {
    let scene = try Scene(schema: Self.schema())
    let way = BreakingTransport(scene.server.address)
    let device = try Device("phone", in: scene.folder, transport: way, schema: scene.schema)
    try await device.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    let shop = try await device.store.write { db in
      let shop = db.newID()
      try db.execute("INSERT INTO shops (id, name) VALUES (?, 'Corner')", [.text(shop)])
      return shop
    }
    try await device.engine.sync()
    let client = TimestampClient(try scene.rest("ann"), zone: shop)
    try client.sync()
    try sequence(scene, shop)
    let customer = try await states(device, shop)
    try await numberOfTheUpload(device, client, shop)
    try await dirtyOnBothSides(device, client, customer)
    try await editedOnTheWay(device, way, customer)
    try await childBeforeParent(scene, client, customer)
    try await deletedParent(device, client, customer)
    for _ in 0..<2 {
      try client.sync()
      try await device.engine.sync()
    }
    try await scene.expectAgreement([device])
    try expectAgreement(scene, client)
  }

  /// Every create, update and delete takes the next number, and a replay of none takes one.
  private func sequence(_ scene: Scene, _ shop: String) throws {
    let rest = try scene.rest("ann")
    let body: JSONValue = ["columns": ["shop_id": .string(shop), "name": "Nobody"]]
    let made = try rest.send("POST", "/v1/tables/customers", body, id: "first")
    let first = try #require(made.json["seq"]?.integerValue)
    let path = "/v1/tables/customers/\(made.json["id"]?.stringValue ?? "")"
    #expect(try rest.send("POST", "/v1/tables/customers", body, id: "first").json["seq"] == .integer(first))
    let name: JSONValue = ["columns": ["name": "Somebody"]]
    #expect(try rest.send("PATCH", path, name).json["seq"] == .integer(first + 1))
    #expect(try rest.send("PATCH", path, name).json["seq"] == .integer(first + 1))
    #expect(try rest.send("DELETE", path).json["seq"] == .integer(first + 2))
    #expect(try rest.send("DELETE", path).json["seq"] == .integer(first + 2))
  }

  /// What the two columns say of one record, from its making to its end.
  private func states(_ device: Device, _ shop: String) async throws -> String {
    let id = StoreEnvironment.system.newID()
    func expect(_ rev: Int64?, dirty: Set<String>, _ place: SourceLocation = #_sourceLocation) async throws {
      let found = try await device.store.read { db in
        (
          try db.first(Int64.self, "SELECT rev FROM customers WHERE id = ?", [.text(id)]),
          try db.fetch(
            String.self,
            """
            SELECT DISTINCT kind || CASE kind WHEN 'update' THEN ' ' || column_name ELSE '' END
            FROM holdfast_edits WHERE id = ?
            """,
            [.text(id)])
        )
      }
      #expect(found.0 == rev, sourceLocation: place)
      #expect(Set(found.1) == dirty, sourceLocation: place)
    }
    func write(_ sql: String) async throws {
      try await device.store.write { try $0.execute(sql, [.text(id), .text(shop)]) }
    }
    try await write("INSERT INTO customers (id, shop_id, name) VALUES (?, ?, 'Smith')")
    try await expect(0, dirty: ["create"])
    try await device.engine.sync()
    try await expect(1, dirty: [])
    try await write("UPDATE customers SET phone = '12' WHERE id = ? AND shop_id = ?")
    try await expect(1, dirty: ["update phone"])
    try await device.engine.sync()
    try await expect(2, dirty: [])
    try await write("DELETE FROM customers WHERE id = ? AND shop_id = ?")
    try await expect(nil, dirty: ["delete"])
    try await device.engine.sync()
    try await expect(nil, dirty: [])
    let kept = StoreEnvironment.system.newID()
    try await device.store.write {
      try $0.execute(
        "INSERT INTO customers (id, shop_id, name) VALUES (?, ?, 'Miller')", [.text(kept), .text(shop)])
    }
    try await device.engine.sync()
    return kept
  }

  /// Others write between the download and the upload of one sync: the upload's number is greater than theirs, and they are read all the same.
  private func numberOfTheUpload(_ device: Device, _ client: TimestampClient, _ shop: String) async throws {
    let own = client.insert("customers", ["shop_id": .string(shop), "name": "Own"])
    try client.download()
    let other = try await device.store.write { db in
      let id = db.newID()
      try db.execute(
        "INSERT INTO customers (id, shop_id, name) VALUES (?, ?, 'Other')", [.text(id), .text(shop)])
      return id
    }
    try await device.engine.sync()
    try client.upload()
    let number = try #require(client.rows[own]?.timestamp)
    #expect(client.rows[other] == nil)
    try client.sync()
    #expect(client.rows[other]?.columns["name"] == "Other")
    #expect(try #require(client.rows[other]?.timestamp) < number)
    // And the same for the device, whose upload is one request with its download.
    let late = client.insert("customers", ["shop_id": .string(shop), "name": "Late"])
    try client.sync()
    try await device.store.write {
      try $0.execute("UPDATE customers SET phone = '1' WHERE id = ?", [.text(other)])
    }
    try await device.engine.sync()
    let names = try await device.store.read {
      try $0.fetch(String.self, "SELECT name FROM customers WHERE id = ?", [.text(late)])
    }
    #expect(names == ["Late"])
  }

  /// One record is dirty here and changed there: other columns are both kept, and of one column both values are in the log.
  private func dirtyOnBothSides(_ device: Device, _ client: TimestampClient, _ customer: String) async throws
  {
    try client.sync()
    client.update(customer, ["phone": "34", "city": "Paris"])
    try await device.store.write {
      try $0.execute("UPDATE customers SET name = 'Mueller', city = 'Rome' WHERE id = ?", [.text(customer)])
    }
    try await device.engine.sync()
    try client.sync()
    try await device.engine.sync()
    let row = try await device.store.read {
      try $0.rows("SELECT name, phone, city FROM customers WHERE id = ?", [.text(customer)]).rows.first
    }
    #expect(row == [.text("Mueller"), .text("34"), .text("Rome")])
    #expect(client.rows[customer]?.columns["city"] == "Rome")
    let log = try await device.store.read { try $0.conflicts() }
    #expect(log.map(\.column) == ["city"])
    #expect(log.first?.winner.value == "Rome" && log.first?.loser.value == "Paris")
  }

  /// An edit that is made while the upload is on its way stays dirty, and is sent.
  private func editedOnTheWay(_ device: Device, _ way: BreakingTransport, _ customer: String) async throws {
    @Sendable func call(_ number: String) async throws {
      try await device.store.write {
        try $0.execute("UPDATE customers SET phone = ? WHERE id = ?", [.text(number), .text(customer)])
      }
    }
    try await call("56")
    let sent = way.syncs.count
    way.afterNext { _ in try await call("78") }
    try await device.engine.sync()
    let phones = way.syncs[sent...].compactMap {
      $0["change_sets"]?.elements?.first?.elements?.first?["columns"]?["phone"]
    }
    #expect(phones == ["56", "78"])
    #expect(try await device.store.waitingOperations() == 0)
  }

  /// A parent that was changed after its child was made is behind it in the order of the changes; a new device takes them in pages, with foreign keys.
  private func childBeforeParent(_ scene: Scene, _ client: TimestampClient, _ customer: String) async throws {
    try client.sync()
    let order = client.insert("orders", ["customer_id": .string(customer), "what": "Apples"])
    try client.sync()
    client.update(customer, ["phone": "90"])
    try client.sync()
    let fresh = TimestampClient(client.rest, zone: client.zone)
    try fresh.download(limit: 1)
    #expect(fresh.order.firstIndex(of: order) ?? .max < fresh.order.firstIndex(of: customer) ?? .min)
    // What was deleted before it began is not there.
    #expect(fresh.rows.values.allSatisfy { !$0.isDeleted })
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    try await scene.expectAgreement([laptop])
  }

  /// The parent goes while somebody offline gives it a child: nobody has an orphan, and the child is in the log.
  private func deletedParent(_ device: Device, _ client: TimestampClient, _ customer: String) async throws {
    try await device.engine.sync()
    try await device.store.write { db in
      try db.execute(
        "INSERT INTO orders (id, customer_id, what) VALUES (?, ?, 'Pears')",
        [.text(db.newID()), .text(customer)])
    }
    client.delete(customer)
    try client.sync()
    for _ in 0..<2 { try await device.engine.sync() }
    let orders = try await device.store.read { try $0.fetch(String.self, "SELECT what FROM orders") }
    #expect(orders == [])
    let lost = try await device.store.read { try $0.conflicts() }.filter(\.isDeletion).map(\.loser.value)
    #expect(lost.contains("Pears"))
    #expect(try await device.store.quarantined().isEmpty)
  }

  /// The client's rows are the server's.
  private func expectAgreement(_ scene: Scene, _ client: TimestampClient) throws {
    let database = try scene.server.database()
    for table in ["shops", "customers", "orders"] {
      let truth = try database.rows("SELECT id, seq FROM \(table) ORDER BY id")
      let rows = client.rows.filter { $0.value.table == table }.sorted { $0.key < $1.key }
      #expect(rows.map { [.text($0.key), .integer($0.value.timestamp ?? 0)] } == truth)
    }
  }
}
