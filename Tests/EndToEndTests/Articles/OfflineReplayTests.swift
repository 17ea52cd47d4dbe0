import Foundation
import Holdfast
import HoldfastCore
import TemporaryPostgres
import Testing

/// Every request of a to-do list's clients may be repeated at any time.
///
/// What it takes: a queue of writes that survives the end of the app and is sent again until it was answered, after days too; creates that are
/// known by a request id, which is unique for each user and device, is kept with the record in the database and shown, so that a
/// client that only reads can tell that its create has arrived; updates that name the revision they know, are refused when it is
/// another one, and end well when they are repeated; deletes that always win and always succeed.
///
/// What was left open: requests of the queue that depend on each other, as a task is in a list whose create was never answered, so that its id
/// is not known; and a repeated update, which is refused like anybody's and has to be fetched, merged and found to be nothing. Answers that
/// are only kept for a day are no help to who was away for a week.
@Suite("Requests of a phone that was offline for days")
struct OfflineReplayTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "tasks",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "tasks", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true),
            ColumnSchema("note", .text, maximumLength: 1_000_000),
          ]),
      ])
  }

  private static let day: Int64 = 86_400_000

  @Test(
    "are repeated after restarts on both sides and have one effect, whatever they depend on and whatever came in between (I1, I2, I3)"
  )
  func phone() async throws {
    let scene = try Scene(schema: Self.schema())
    let tablet = try await scene.signUp("ann", on: "tablet")
    let list = try await queueOfDays(scene, tablet)
    try await updateBehindOthers(scene, tablet, list)
    try await deleteTwice(scene, tablet)
    try program(scene)
    try purgedAnswers(scene)
    let phone = try phone(scene, BreakingTransport(scene.server.address), days: 0)
    for device in [phone, tablet] { try await device.engine.sync() }
    try await scene.expectAgreement([phone, tablet])
  }

  // MARK: The client library

  /// The phone, switched on so many days ago.
  private func phone(_ scene: Scene, _ way: BreakingTransport, days: Int64) throws -> Device {
    let system = StoreEnvironment.system
    return try Device(
      "phone", in: scene.folder, transport: way, schema: scene.schema,
      environment: StoreEnvironment(
        now: { system.now() - days * Self.day }, random: system.random, sleep: system.sleep))
  }

  private func titles(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT title FROM tasks ORDER BY title") }
  }

  /// A list, tasks in it, edits of them: five transactions, none of which the server has heard of. Twice they arrive and the answer does not.
  private func queueOfDays(_ scene: Scene, _ tablet: Device) async throws -> String {
    let way = BreakingTransport(scene.server.address)
    let bought = try phone(scene, way, days: 9)
    try await bought.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    let (list, tasks) = try await bought.store.write { db in
      let list = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'Trip')", [.text(list)])
      return (list, [db.newID(), db.newID(), db.newID()])
    }
    let statements: [(String, [SQLiteValue])] = [
      (
        "INSERT INTO tasks (id, list_id, title) VALUES (?2, ?1, 'Tickets'), (?3, ?1, 'Tent'), (?4, ?1, 'Map')",
        [.text(list)] + tasks.map { .text($0) }
      ),
      ("UPDATE tasks SET title = 'Train tickets' WHERE id = ?", [.text(tasks[0])]),
      ("DELETE FROM tasks WHERE id = ?", [.text(tasks[2])]),
      ("UPDATE lists SET title = 'Summer trip' WHERE id = ?", [.text(list)]),
    ]
    for (sql, values) in statements { try await bought.store.write { try $0.execute(sql, values) } }
    let waiting = try await bought.store.waitingOperations()
    #expect(waiting == 7)
    for days in [6, 3] as [Int64] {
      let phone = try phone(scene, way, days: days)
      #expect(try await phone.store.waitingOperations() == waiting)
      way.loseNextAnswer()
      await #expect(throws: StoreError.self) { try await phone.engine.sync() }
      scene.server.kill()
      try scene.server.start()
      // Another device sees them already, once.
      try await tablet.engine.sync()
      #expect(try await titles(tablet) == ["Tent", "Train tickets"])
    }
    let phone = try phone(scene, way, days: 0)
    #expect(try await phone.engine.sync().sent == waiting)
    // What was sent was the same each time, to the last byte.
    #expect(Set(way.syncs.prefix(3).compactMap { $0["change_sets"]?.bytes }).count == 1)
    #expect(way.syncs.count >= 3)
    try await scene.expectAgreement([phone, tablet])
    let revs = try scene.server.database().rows("SELECT rev FROM tasks ORDER BY title")
    #expect(revs == [[.integer(1)], [.integer(2)]])
    #expect(try await phone.store.read { try $0.conflicts() }.isEmpty)
    return list
  }

  /// An update arrives, its answer does not, and others edit what it wrote: the repeated update must not write again.
  private func updateBehindOthers(_ scene: Scene, _ tablet: Device, _ list: String) async throws {
    let way = BreakingTransport(scene.server.address)
    let phone = try phone(scene, way, days: 0)
    try await phone.store.write { try $0.execute("UPDATE tasks SET title = 'Big tent' WHERE title = 'Tent'") }
    way.afterNext { _ in
      try await tablet.engine.sync()
      try await tablet.store.write {
        try $0.execute("UPDATE tasks SET title = 'Small tent' WHERE title = 'Big tent'")
      }
      try await tablet.engine.sync()
      throw StoreError(.offline, "the train is in a tunnel")
    }
    await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    #expect(try await titles(phone) == ["Big tent", "Train tickets"])
    for device in [phone, tablet] { try await device.engine.sync() }
    #expect(try await titles(phone) == ["Small tent", "Train tickets"])
    #expect(try await phone.store.read { try $0.conflicts() }.isEmpty)
    try await scene.expectAgreement([phone, tablet])
  }

  /// Both delete the same task, and the answer is lost.
  private func deleteTwice(_ scene: Scene, _ tablet: Device) async throws {
    let way = BreakingTransport(scene.server.address)
    let phone = try phone(scene, way, days: 0)
    for device in [phone, tablet] {
      try await device.store.write { try $0.execute("DELETE FROM tasks WHERE title = 'Small tent'") }
    }
    way.loseNextAnswer()
    await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    for device in [tablet, phone] { try await device.engine.sync() }
    #expect(try await titles(phone) == ["Train tickets"])
    try await scene.expectAgreement([phone, tablet])
  }

  // MARK: Programs with a queue of their own

  private func record(_ columns: JSONValue, id: String? = nil) -> JSONValue {
    .object((id.map { [.init("id", .string($0))] } ?? []) + [.init("columns", columns)])
  }

  /// Creates by request id, updates by revision, deletes.
  private func program(_ scene: Scene) throws {
    let port = scene.server.port
    let token = try RestConnection.signIn("ann", port: port)
    let rest = try RestConnection(port: port, token: token)
    // The queue names what it makes itself, so that what follows can say where it belongs.
    let (list, task) = (StoreEnvironment.system.newID(), StoreEnvironment.system.newID())
    let queue: [(path: String, body: JSONValue, id: String)] = [
      ("/v1/tables/lists", record(["title": "Shopping"], id: list), "create-list"),
      ("/v1/tables/tasks", record(["list_id": .string(list), "title": "Milk"], id: task), "create-task"),
    ]
    // The connection breaks before anything is read.
    try RestConnection(port: port, token: token).sendOnly(
      "POST", queue[0].path, queue[0].body, id: queue[0].id)
    // In read mode: the record says which request made it, so nothing needs to be repeated.
    func reconciled() throws -> Bool {
      let record = try rest.send("GET", "/v1/tables/lists/\(list)")
      return record.status == 200 && record.json["created_by_request_id"] == .string(queue[0].id)
    }
    try blockUntil(reconciled)
    for turn in 0..<3 {
      for (number, request) in queue.enumerated() {
        let answer = try rest.send("POST", request.path, request.body, id: request.id)
        #expect(answer.status == 201 && answer.isReplay == (turn + 1 - number > 0))
      }
    }
    // The same ids of another device, and of another user, are other requests.
    let body = record(["title": "Other"])
    let other = try scene.rest("ann").send("POST", "/v1/tables/lists", body, id: "create-list")
    let bob = try RestConnection(port: port, token: RestConnection.signUp("bob", port: port))
    let strange = try bob.send("POST", "/v1/tables/lists", body, id: "create-list")
    #expect(Set([list, other.json["id"]?.stringValue, strange.json["id"]?.stringValue]).count == 3)
    #expect(other.status == 201 && !other.isReplay && strange.status == 201 && !strange.isReplay)
    let strangeID = strange.json["id"]?.stringValue ?? ""
    #expect(try bob.send("DELETE", "/v1/tables/lists/\(strangeID)").status == 200)
    try updates(rest, "/v1/tables/tasks/\(task)")
    for _ in 0..<3 { #expect(try rest.send("DELETE", "/v1/tables/tasks/\(task)").status == 200) }
    #expect(try rest.send("DELETE", "/v1/tables/tasks/\(StoreEnvironment.system.newID())").status == 204)
  }

  /// An update with the revision that it knows: refused when it is another one, with the record to merge with; repeated, it finds itself done.
  private func updates(_ rest: RestConnection, _ task: String) throws {
    let oat: JSONValue = ["columns": ["title": "Oat milk"]]
    #expect(try rest.send("PATCH", task, oat, headers: ["If-Match": "\"1\""]).json["rev"] == 2)
    let again = try rest.send("PATCH", task, oat, headers: ["If-Match": "\"1\""])
    #expect(again.status == 412)
    #expect(again.json["record"]?["rev"] == 2 && again.json["record"]?["columns"]?["title"] == "Oat milk")
    // With an id nothing needs to be compared: the first answer comes again.
    let note: JSONValue = ["columns": ["note": "two bottles"]]
    let first = try rest.send("PATCH", task, note, id: "note", headers: ["If-Match": "\"2\""])
    let second = try rest.send("PATCH", task, note, id: "note", headers: ["If-Match": "\"2\""])
    #expect(first.status == 200 && second.isReplay && second.body == first.body)
    let third = try rest.send("PATCH", task, oat, headers: ["If-Match": "\"7\""])
    #expect(third.status == 412 && third.json["record"]?["rev"] == 3)
  }

  /// The server keeps only so many bytes of answers, and still knows which request made which record.
  private func purgedAnswers(_ scene: Scene) throws {
    let rest = try scene.rest("ann")
    let body = record(["title": "Kept"])
    let first = try rest.send("POST", "/v1/tables/lists", body, id: "old")
    let list = try #require(first.json["id"]?.stringValue)
    let made = try rest.send("POST", "/v1/tables/tasks", record(["list_id": .string(list), "title": "Long"]))
    let task = try #require(made.json["id"]?.stringValue)
    for number in 0..<18 {
      let note = "\(number) " + String(repeating: "a", count: 990_000)
      let answer = try rest.send(
        "PATCH", "/v1/tables/tasks/\(task)", ["columns": ["note": .string(note)]], id: "note \(number)")
      #expect(answer.status == 200)
    }
    _ = try rest.send("PATCH", "/v1/tables/lists/\(list)", ["columns": ["title": "Renamed"]])
    scene.server.kill()
    try scene.server.start()
    let connection = try RestConnection(port: scene.server.port, token: rest.token)
    let again = try connection.send("POST", "/v1/tables/lists", body, id: "old")
    // Not the answer of then, but the record as it is now.
    #expect(again.json["id"] == .string(list) && again.json["columns"]?["title"] == "Renamed")
    #expect(
      try scene.server.database().value("SELECT count(*) FROM lists WHERE title IN ('Kept', 'Renamed')")
        == .integer(1))
    #expect(try connection.send("DELETE", "/v1/tables/lists/\(list)").status == 200)
    // And when it is gone, it is not made again.
    #expect(try connection.send("POST", "/v1/tables/lists", body, id: "old").status == 410)
  }
}
