import Foundation
import Holdfast
import HoldfastCore
import Testing

private struct Term: Record {
  static let table = "terms"
  var id: String
  var set_id: String
  var word: String
  var definition: String?
  var position = ""
}

/// A team of students edits study sets on phones that are mostly offline.
///
/// What it takes: the app is whole without a network, on a database with the server's own tables, join tables too; create, read, update,
/// delete and index, each for many records as well; dirty columns, which no download overwrites; a server that answers with the
/// record as it is; short forms of what was deleted; pages that do not shift.
///
/// What was left open: the ranks of the terms. Inserting, deleting and reordering in one offline stretch came out as the order of the requests
/// had it, so that deletes had to be sent before creates, and terms could not be reordered at all.
@Suite("The terms of a study set")
struct StudySetTermsTests {
  private static func schema() throws -> SyncSchema {
    let text = """
      {"holdfast": 1, "name": "study", "tables": {
        "sets": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
        "terms": {"zone": {"parent": "set_id"}, "columns": {
          "set_id": {"type": "reference", "to": "sets", "required": true, "on_delete": "cascade"},
          "word": {"type": "text", "required": true}, "definition": {"type": "text"},
          "position": {"type": "position", "required": true}}},
        "folders": {"zone": "user", "columns": {"name": {"type": "text", "required": true}}},
        "folder_sets": {"zone": {"parent": "folder_id"}, "unique": [["folder_id", "set_id"]], "columns": {
          "folder_id": {"type": "reference", "to": "folders", "required": true, "on_delete": "cascade"},
          "set_id": {"type": "reference", "to": "sets", "required": true, "on_delete": "cascade", "across": true}}}
      }}
      """
    return try SyncSchema(json: Array(text.utf8))
  }

  private static let words = ["A", "B", "C", "D", "E", "F"]

  @Test(
    "is made, shared, edited and reordered by several people offline, and comes out as each of them meant it (I1, I3, I5, I6, I7)"
  )
  func studySet() async throws {
    let scene = try Scene(schema: Self.schema())
    let way = BreakingTransport(scene.server.address)
    let ann = try Device("phone", in: scene.folder, transport: way, schema: scene.schema)
    try await ann.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    let ben = try await scene.signUp("ben", on: "tablet")
    let set = try await madeOffline(scene, ann, ben)
    try await dirtyColumns(ann, ben, set, way)
    try await deletedTerm(scene, ann, ben, set)
    try await pages(scene, ann, set)
    for isAnnFirst in [true, false] { try await reorderedOffline(scene, ann, ben, isAnnFirst) }
    #expect(try ann.contents(scene.schema)["terms"] == ben.contents(scene.schema)["terms"])
    try await requestsInAnyOrder(scene, ann)
    try await ann.engine.sync()
    try await scene.expectAgreement([ann])
  }

  /// The server is away, and nothing that the app does needs it; a folder names the set by a row of a join table.
  private func madeOffline(_ scene: Scene, _ ann: Device, _ ben: Device) async throws -> String {
    scene.server.kill()
    let set = try await makeSet(ann, "Capitols")
    let folder = try await ann.store.write { db in
      let folder = db.newID()
      try db.execute("INSERT INTO folders (id, name) VALUES (?, 'School')", [.text(folder)])
      try db.execute(
        "INSERT INTO folder_sets (id, folder_id, set_id) VALUES (?, ?, ?)",
        [.text(db.newID()), .text(folder), .text(set)])
      return folder
    }
    await #expect(throws: StoreError.self) { try await ann.engine.sync() }
    let titles = try await ann.store.read { db in
      try db.fetch(
        String.self,
        "SELECT title FROM sets JOIN folder_sets ON set_id = sets.id WHERE folder_id = ?", [.text(folder)])
    }
    #expect(titles == ["Capitols"])
    try scene.server.start()
    for device in [ann, ben] { try await device.engine.sync() }
    try await ben.acceptAll()
    try await ann.engine.sync()
    #expect(try await words(ben, set) == Self.words)
    // Same tables, same columns, same values, the join table among them; ben sees the set and not the folder.
    try await scene.expectAgreement([ann])
    #expect(try ben.contents(scene.schema)["folder_sets"] == [])
    return set
  }

  /// Two edit columns of one term, and one goes on typing while the answer is on its way: nothing is overwritten.
  private func dirtyColumns(
    _ ann: Device, _ ben: Device, _ set: String, _ way: BreakingTransport
  ) async throws {
    let first = try #require(try await terms(ann, set).first)
    try await ben.store.write {
      try $0.update(Term.self, id: first.id) { $0.definition = "The first letter" }
    }
    try await ben.engine.sync()
    try await ann.store.write { db in
      try db.update(Term.self, id: first.id) { $0.word = "Alpha" }
      try db.execute("UPDATE sets SET title = 'Capitals' WHERE id = ?", [.text(set)])
    }
    // The answer says "Capitals", and the set is called otherwise by now.
    way.afterNext { _ in
      try await ann.store.write {
        try $0.execute("UPDATE sets SET title = 'Capital letters' WHERE id = ?", [.text(set)])
      }
    }
    for device in [ann, ben] { try await device.engine.sync() }
    for device in [ann, ben] {
      let term = try await device.store.read { try $0.find(Term.self, id: first.id) }
      #expect(term?.word == "Alpha" && term?.definition == "The first letter")
      let title = try await device.store.read {
        try $0.first(String.self, "SELECT title FROM sets WHERE id = ?", [.text(set)])
      }
      #expect(title == "Capital letters")
      #expect(try await device.store.read { try $0.conflicts() }.isEmpty)
    }
    // Only what is dirty was sent: one column each.
    let sent = way.syncs.suffix(2).flatMap { $0["change_sets"]?.elements ?? [] }.flatMap { $0.elements ?? [] }
    #expect(sent.map { $0["columns"]?.members?.count } == [1, 1, 1])
  }

  /// A deleted term is a short form for whoever asks, and leaves the other device.
  private func deletedTerm(_ scene: Scene, _ ann: Device, _ ben: Device, _ set: String) async throws {
    let last = try #require(try await terms(ann, set).last)
    try await ben.store.write { try $0.delete(Term.self, id: last.id) }
    for device in [ben, ann] { try await device.engine.sync() }
    #expect(try await words(ann, set) == ["Alpha", "B", "C", "D", "E"])
    let answer = try scene.rest("ann").send("GET", "/v1/tables/terms/\(last.id)")
    #expect(answer.status == 410)
    #expect(answer.json["id"] == .string(last.id) && answer.json["deleted"] == true)
    #expect(answer.json["deleted_at"]?.stringValue != nil)
    #expect(answer.json["columns"] == nil)
  }

  /// Terms come and go between two pages of an index.
  private func pages(_ scene: Scene, _ ann: Device, _ set: String) async throws {
    let rest = try scene.rest("ann")
    let before = try await terms(ann, set)
    let first = try rest.send("GET", "/v1/tables/terms?where.set_id=\(set)&order=position&limit=2&count=true")
    #expect(first.json["count"] == 5)
    var seen = ids(first.json["records"])
    try await ann.store.write { db in
      try db.delete(Term.self, id: before[0].id)
      try db.insert([Term(id: db.newID(), set_id: set, word: "Zero")], at: .first)
    }
    try await ann.engine.sync()
    var next = first.json["next"]?.stringValue
    while let address = next {
      let page = try rest.send("GET", address)
      seen += ids(page.json["records"])
      next = page.json["next"]?.stringValue
    }
    #expect(seen == before.map(\.id))
    // Several at once, in the order asked.
    let shown = try rest.send("GET", "/v1/tables/terms?ids=\(before[2].id),\(before[1].id)")
    #expect(shown.json["results"]?.elements?.map { $0["record"]?["columns"]?["word"] } == ["C", "B"])
  }

  /// What could not be done: inserts, deletes and moves by two people in one offline stretch, whoever is back first. Only what they touched is
  /// sent, and the ranks are dense.
  private func reorderedOffline(
    _ scene: Scene, _ ann: Device, _ ben: Device, _ isAnnFirst: Bool
  ) async throws {
    let set = try await makeSet(ann, "Letters \(isAnnFirst)")
    try await ann.engine.sync()
    try await ben.acceptAll()
    try await ann.engine.sync()
    let all = try await terms(ann, set).map(\.id)
    try await ann.store.write { db in
      try db.delete(Term.self, id: all[1])
      try db.insert([Term(id: db.newID(), set_id: set, word: "X")], at: .after(all[2]))
      try db.move(Term.self, ids: [all[5]], to: .first)
    }
    try await ben.store.write { db in
      try db.delete(Term.self, id: all[1])
      try db.move(Term.self, ids: [all[0]], to: .after(all[4]))
      try db.insert([Term(id: db.newID(), set_id: set, word: "Y")], at: .last)
    }
    for device in [ann, ben] { #expect(try await device.store.waitingOperations() == 3) }
    let order = isAnnFirst ? [ann, ben, ann] : [ben, ann, ben]
    for device in order { try await device.engine.sync() }
    for device in [ann, ben] { #expect(try await words(device, set) == ["F", "C", "X", "D", "E", "A", "Y"]) }
    let index = try scene.rest("ben").send(
      "GET", "/v1/tables/terms?where.set_id=\(set)&order=position&rank=position")
    let records = index.json["records"]?.elements ?? []
    #expect(records.map { $0["columns"]?["word"] } == ["F", "C", "X", "D", "E", "A", "Y"])
    #expect(records.map { $0["rank"] } == [1, 2, 3, 4, 5, 6, 7])
  }

  /// A program without a copy sends a delete, a create and a move in every order, all at once over connections of their own, and as one batch.
  private func requestsInAnyOrder(_ scene: Scene, _ ann: Device) async throws {
    let port = scene.server.port
    let token = try RestConnection.signIn("ann", port: port)
    let rest = try RestConnection(port: port, token: token)
    func expectOrder(_ set: String) throws {
      let index = try rest.send("GET", "/v1/tables/terms?where.set_id=\(set)&order=position&rank=position")
      let records = index.json["records"]?.elements ?? []
      #expect(records.map { $0["columns"]?["word"] } == ["F", "A", "C", "X", "D", "E"])
      #expect(records.map { $0["rank"] } == [1, 2, 3, 4, 5, 6])
    }
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
      let (set, terms) = try makeSet(rest)
      let edits = edits(set, terms)
      for number in order { #expect(try edits[number].send(rest).status < 300) }
      try expectOrder(set)
    }
    let (set, terms) = try makeSet(rest)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for edit in edits(set, terms) {
        group.addTask { try edit.send(RestConnection(port: port, token: token)).status }
      }
      for try await status in group { #expect(status < 300) }
    }
    try expectOrder(set)
    let (last, members) = try makeSet(rest)
    let batch = try rest.send(
      "POST", "/v1/batch", ["operations": .array(edits(last, members).map(\.operation))])
    #expect(batch.json["results"]?.elements?.map { $0["status"] } == [200, 201, 200])
    try expectOrder(last)
  }

  /// One request of REST, alone or as an operation of a batch.
  private struct Edit: Sendable {
    let method: String
    let path: String
    let columns: JSONValue?
    let operation: JSONValue

    func send(_ rest: RestConnection) throws -> RestConnection.Answer {
      try rest.send(method, path, columns.map { ["columns": $0] })
    }
  }

  /// B goes, X comes behind C, F goes to the front.
  private func edits(_ set: String, _ terms: [String]) -> [Edit] {
    let new: JSONValue = ["set_id": .string(set), "word": "X", "position": ["after": .string(terms[2])]]
    let place: JSONValue = ["position": ["at": "first"]]
    let path = "/v1/tables/terms"
    return [
      Edit(
        method: "DELETE", path: "\(path)/\(terms[1])", columns: nil,
        operation: ["op": "delete", "table": "terms", "id": .string(terms[1])]),
      Edit(
        method: "POST", path: path, columns: new,
        operation: ["op": "create", "table": "terms", "columns": new]),
      Edit(
        method: "PATCH", path: "\(path)/\(terms[5])", columns: place,
        operation: ["op": "update", "table": "terms", "id": .string(terms[5]), "columns": place]),
    ]
  }

  /// A set of six terms, by two requests.
  private func makeSet(_ rest: RestConnection) throws -> (set: String, terms: [String]) {
    let made = try rest.send("POST", "/v1/tables/sets", ["columns": ["title": "Letters"]])
    let set = try #require(made.json["id"]?.stringValue)
    let terms = Self.words.map { word -> JSONValue in
      ["columns": ["set_id": .string(set), "word": .string(word), "position": ["at": "last"]]]
    }
    let answer = try rest.send("POST", "/v1/tables/terms", ["records": .array(terms)])
    return (set, answer.json["results"]?.elements?.compactMap { $0["record"]?["id"]?.stringValue } ?? [])
  }

  /// The same on a device, shared with ben.
  private func makeSet(_ device: Device, _ title: String) async throws -> String {
    try await device.store.write { db in
      let set = db.newID()
      try db.execute("INSERT INTO sets (id, title) VALUES (?, ?)", [.text(set), .text(title)])
      try db.execute("INSERT INTO members (zone, name, role) VALUES (?, 'ben', 'editor')", [.text(set)])
      try db.insert(Self.words.map { Term(id: db.newID(), set_id: set, word: $0) }, at: .last)
      return set
    }
  }

  private func ids(_ records: JSONValue?) -> [String] {
    records?.elements?.compactMap { $0["id"]?.stringValue } ?? []
  }

  private func terms(_ device: Device, _ set: String) async throws -> [Term] {
    try await device.store.read {
      try $0.fetch(Term.self, "SELECT * FROM terms WHERE set_id = ? ORDER BY position, id", [.text(set)])
    }
  }

  private func words(_ device: Device, _ set: String) async throws -> [String] {
    try await terms(device, set).map(\.word)
  }
}
