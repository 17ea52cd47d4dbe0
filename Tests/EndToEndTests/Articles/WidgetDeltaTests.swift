import Foundation
import Holdfast
import HoldfastCore
import HoldfastServer
import Testing

/// An app that ships a data set with it and then asks for what has changed.
///
/// What it takes: the whole by one request; a snapshot that is built into the app; a conditional GET that answers with the changed records alone,
/// with a mark on those that went, which may come back; 304 and no body when nothing changed; a way back to a pristine copy when a delta
/// could not be applied; an app that doesn't notice that the server is away.
///
/// What was left open: times. A change that was made an hour before it was published is passed over by everybody who asked in between; two
/// changes in one second are one; and a date is only safe as long as nobody reads it. A number of the version would do better, and would be no
/// REST any more.
@Suite("The deltas of a collection of widgets")
struct WidgetDeltaTests {
  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "widgets",
      tables: [
        TableSchema(
          "widgets", zone: .public("catalogue"),
          columns: [
            ColumnSchema("name", .text, required: true), ColumnSchema("color", .text, required: true),
          ])
      ])
  }

  private static let path = "/v1/tables/widgets"

  /// A client that keeps a copy by conditional GETs, and sends dates back as they came.
  private struct Copy {
    var rest: RestConnection
    var colors: [String: String] = [:]
    var modified: String?

    /// Asks once.
    ///
    /// - Returns: the ids of the records that came; nil for 304.
    mutating func refresh() throws -> [String]? {
      let answer = try rest.send("GET", path, headers: modified.map { ["If-Modified-Since": $0] } ?? [:])
      if answer.status == 304 {
        #expect(answer.body.isEmpty && answer.headers["last-modified"] == modified)
        return nil
      }
      #expect(answer.status == 200)
      modified = answer.headers["last-modified"]
      return answer.json["records"]?.elements?.compactMap { record in
        guard let id = record["id"]?.stringValue else { return nil }
        colors[id] = record["columns"]?["color"]?.stringValue
        #expect((colors[id] == nil) == (record["deleted"] == true))
        return id
      }
    }
  }

  @Test(
    "take nothing but what changed, from a shipped snapshot on, and miss nothing, however late it is published (I4, I7)"
  )
  func widgets() async throws {
    let scene = try Scene(schema: Self.schema())
    let editor = try RestConnection(
      port: scene.server.port, token: RestConnection.signUp("editor", port: scene.server.port))
    try Administration(scene.server.shared.location).grant(zone: "catalogue", name: "editor", role: .editor)
    let ids = try makeWidgets(editor)
    let phone = try await shippedApp(scene)
    var copy = Copy(rest: try scene.rest("ann"))
    #expect(try Set(copy.refresh() ?? []) == Set(ids))
    try await changed(editor, ids, &copy, phone)
    try await removedAndBack(editor, ids, &copy, phone)
    try everySecond(editor, ids, scene)
    try await publishedLate(scene, ids, &copy, phone)
    try await whileOthersWrite(scene, ids, &copy)
    try versions(editor, ids, scene)
    try await phone.engine.sync()
    try await serverAway(scene, editor, ids, phone)
    try await pristine(scene, phone)
    try await scene.expectAgreement([phone])
    // A date of before the restart is as good as ever.
    copy.rest = try scene.rest("ann")
    #expect(try copy.refresh()?.count == 2)
    let colors = try scene.server.database().rows("SELECT id, color FROM widgets")
    #expect(
      copy.colors == Dictionary(uniqueKeysWithValues: colors.map { ($0[0].text ?? "", $0[1].text ?? "") }))
  }

  private func makeWidgets(_ editor: RestConnection) throws -> [String] {
    let records = ["blue", "yellow", "red", "green", "gray", "white"].enumerated().map {
      number, color -> JSONValue in
      ["columns": ["name": .string("Widget \(number + 1)"), "color": .string(color)]]
    }
    let answer = try editor.send("POST", Self.path, ["records": .array(records)])
    return answer.json["results"]?.elements?.compactMap { $0["record"]?["id"]?.stringValue } ?? []
  }

  /// The build takes a snapshot, and the app has its widgets before it ever had a network.
  private func shippedApp(_ scene: Scene) async throws -> Device {
    let seed = scene.folder.appendingPathComponent("widgets.db")
    try scene.snapshot("--public", to: seed.path)
    let phone = try Device(
      "phone", in: scene.folder, transport: HTTPTransport(server: scene.server.address),
      schema: scene.schema, seed: seed)
    #expect(phone.store.seeding == .used)
    #expect(try await colors(phone) == ["blue", "yellow", "red", "green", "gray", "white"])
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    // Her membership in a zone of her own, and no widget.
    #expect(try await phone.engine.sync().received == 1)
    let zones = try await phone.store.read {
      try $0.fetch(String.self, "SELECT zone FROM members WHERE name = 'ann'")
    }
    #expect(try await zones == [phone.store.account()?.user])
    return phone
  }

  private func colors(_ device: Device) async throws -> [String] {
    try await device.store.read { try $0.fetch(String.self, "SELECT color FROM widgets ORDER BY name") }
  }

  private func paint(_ editor: RestConnection, _ id: String, _ color: String) throws {
    let answer = try editor.send("PATCH", "\(Self.path)/\(id)", ["columns": ["color": .string(color)]])
    #expect(answer.status == 200)
  }

  /// Two of six change: two come. Then nothing has changed.
  private func changed(
    _ editor: RestConnection, _ ids: [String], _ copy: inout Copy, _ phone: Device
  ) async throws {
    for number in [1, 5] { try paint(editor, ids[number], "purple") }
    #expect(try copy.refresh() == [ids[1], ids[5]])
    #expect(try copy.refresh() == nil)
    #expect(try await phone.engine.sync().received == 2)
    #expect(try await colors(phone) == ["blue", "purple", "red", "green", "gray", "purple"])
  }

  /// The first widget is hidden, and comes back.
  private func removedAndBack(
    _ editor: RestConnection, _ ids: [String], _ copy: inout Copy, _ phone: Device
  ) async throws {
    let address = "\(Self.path)/\(ids[0])"
    #expect(try editor.send("DELETE", address).status == 200)
    #expect(try copy.refresh() == [ids[0]] && copy.colors.count == 5)
    #expect(try await phone.engine.sync().received == 1)
    #expect(try await colors(phone) == ["purple", "red", "green", "gray", "purple"])
    let body: JSONValue = ["columns": ["name": "Widget 1", "color": "blue"]]
    #expect(try editor.send("POST", "\(address)/restore", body).status == 200)
    #expect(try copy.refresh() == [ids[0]] && copy.colors[ids[0]] == "blue")
    #expect(try await phone.engine.sync().received == 1)
    #expect(try await colors(phone).count == 6)
  }

  /// Changes that follow each other at once are states of their own: from each date what came after it is told, and nothing else.
  private func everySecond(_ editor: RestConnection, _ ids: [String], _ scene: Scene) throws {
    let reader = try scene.rest("ann")
    func ask(_ date: String?) throws -> RestConnection.Answer {
      try reader.send("GET", Self.path, headers: date.map { ["If-Modified-Since": $0] } ?? [:])
    }
    var dates = [try ask(nil).headers["last-modified"]]
    for id in ids {
      try paint(editor, id, "pink")
      dates.append(try ask(nil).headers["last-modified"])
    }
    #expect(Set(dates).count == 7)
    for (number, date) in dates.dropLast().enumerated() {
      let sent = try ask(date).json["records"]?.elements?.compactMap { $0["id"]?.stringValue }
      #expect(sent == Array(ids[number...]))
    }
    #expect(try ask(dates[6]).status == 304)
  }

  /// Edits of the staging machine are an hour old when they are published. Whoever has asked in between is told of them all the same.
  private func publishedLate(
    _ scene: Scene, _ ids: [String], _ copy: inout Copy, _ phone: Device
  ) async throws {
    let system = StoreEnvironment.system
    let staging = try Device(
      "staging", in: scene.folder, transport: HTTPTransport(server: scene.server.address),
      schema: scene.schema,
      environment: StoreEnvironment(
        now: { system.now() - 3_600_000 }, random: system.random, sleep: system.sleep))
    try await staging.engine.signIn(name: "editor", password: "correct-horse", device: "staging")
    try await staging.store.follow("catalogue")
    try await staging.engine.sync()
    try await staging.store.write { db in
      for id in ids[2...3] {
        try db.execute("UPDATE widgets SET color = 'gold' WHERE id = ?", [.text(id)])
      }
      try db.execute(
        "INSERT INTO widgets (id, name, color) VALUES (?, 'Widget 7', 'gold')", [.text(db.newID())])
    }
    _ = try copy.refresh()
    try await phone.engine.sync()
    // Another change has come since, with a time of now.
    try paint(try scene.rest("editor"), ids[4], "black")
    #expect(try copy.refresh() == [ids[4]])
    try await staging.engine.sync()
    let published = try #require(try copy.refresh())
    #expect(published.count == 3 && Set(published).isSuperset(of: ids[2...3]))
    #expect(try await phone.engine.sync().received == 4)
    let expected = ["pink", "pink", "gold", "gold", "black", "pink", "gold"]
    #expect(try await colors(phone) == expected)
    #expect(copy.colors.values.filter { $0 == "gold" }.count == 3)
  }

  /// A client that asks all the time while others write ends with what they wrote.
  private func whileOthersWrite(_ scene: Scene, _ ids: [String], _ copy: inout Copy) async throws {
    let port = scene.server.port
    let token = try RestConnection.signIn("editor", port: port)
    let end = "the end"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        group.addTask {
          let rest = try RestConnection(port: port, token: token)
          let own = ids[(2 * writer)..<(2 * writer + 2)]
          for color in (0..<8).map(String.init) + [end] { for id in own { try paint(rest, id, color) } }
        }
      }
      // Asks until it was told of the last edit of each, or for good if one is missed.
      while ids.contains(where: { copy.colors[$0] != end }) { _ = try copy.refresh() }
      try await group.waitForAll()
    }
  }

  /// The same by version, for a client that would rather have it so.
  private func versions(_ editor: RestConnection, _ ids: [String], _ scene: Scene) throws {
    let reader = try scene.rest("ann")
    func changes(_ token: String) throws -> RestConnection.Answer {
      try reader.send("GET", "/v1/zones/catalogue/changes?since=\(token)")
    }
    let token = try #require(try changes("").json["to"]?.stringValue)
    try paint(editor, ids[3], "silver")
    let answer = try changes(token)
    #expect(answer.json["changes"]?.elements?.map { $0["id"] } == [.string(ids[3])])
    #expect(try changes(answer.json["to"]?.stringValue ?? "").json["count"] == 0)
  }

  /// The server is away for a while: the app has its widgets, and what it missed comes later.
  private func serverAway(
    _ scene: Scene, _ editor: RestConnection, _ ids: [String], _ phone: Device
  ) async throws {
    try paint(editor, ids[0], "orange")
    scene.server.kill()
    await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    #expect(try await colors(phone).count == 7)
    try scene.server.start()
    #expect(try await phone.engine.sync().received == 1)
    #expect(try await colors(phone)[0] == "orange")
  }

  /// Something went wrong with the copy on the phone, and no delta can say so: the zone is resynced. Until it is there whole, the old copy stays.
  private func pristine(_ scene: Scene, _ phone: Device) async throws {
    try SQLiteConnection(path: phone.path).execute(
      """
      BEGIN IMMEDIATE; UPDATE holdfast_local SET applying = 1;
      UPDATE widgets SET color = 'broken' WHERE name < 'Widget 3'; DELETE FROM widgets WHERE name = 'Widget 4';
      UPDATE holdfast_local SET applying = 0; COMMIT;
      """)
    #expect(try await phone.engine.sync().received == 0)
    #expect(try await colors(phone).count == 6)
    try await phone.store.reset("catalogue")
    #expect(try await colors(phone).count == 6)
    try await phone.engine.sync()
    #expect(try await colors(phone).count == 7)
    #expect(try await !colors(phone).contains("broken"))
  }
}
