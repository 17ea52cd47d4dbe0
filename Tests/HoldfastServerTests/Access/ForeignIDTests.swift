import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Who guesses ids and zones learns nothing: what is there and what is not is answered in the same words.
@Suite("Ids and zones of strangers")
struct ForeignIDTests {
  private static let tables = ["lists", "items", "seals", "notes", "members", "conflicts"]
  private static let guessers: [AccessScene.Sender] = [.stranger, .other, .strayProgram]

  /// A request that names a record, its zone, or the record that it is under.
  private struct Guess {
    let method: String
    let path: String
    var body: JSONValue?
    var condition: String?
  }

  @Test(
    "every operation says of a record that is there, of a deleted one and of none the same, to the byte (I10)",
    arguments: tables)
  func operations(_ table: String) throws {
    let scene = try AccessScene()
    let operations = try DocumentedOperation.all(scene.server).filter { operation in
      // What begins a zone of one's own, or goes into it, names nothing of others.
      let isOwn =
        operation.method == "POST" && ["/v1/tables/lists", "/v1/tables/notes"].contains(operation.path)
      let namesAny = operation.table.map { $0 == table } ?? operation.path.contains("{")
      return namesAny && !isOwn
    }
    let (live, dead) = (try scene.makeTarget(table), try scene.makeTarget(table))
    if table != "conflicts" { try scene.alice.send("DELETE", "/v1/tables/\(table)/\(dead.id)") }
    let none = scene.ghost(of: live)
    let device = try scene.deviceOfOwner()
    for sender in Self.guessers {
      let token = try scene.token(of: sender, for: live)
      func ask(_ target: AccessScene.Target, device: String) throws -> [String] {
        let documented = try operations.map { operation in
          let (path, body) = try operation.request(target, scene, device: device)
          // Without a condition it would make a record of an id that is free.
          let condition = operation.method == "PUT" ? "*" : nil
          return Guess(method: operation.method, path: path, body: body, condition: condition)
        }
        return try (documented + others(target)).map {
          try answer($0, token, scene, target, device: device)
        }
      }
      let expected = try ask(none, device: scene.server.world.id())
      #expect(expected.allSatisfy { !$0.contains("shown") })
      for answers in [try ask(live, device: device), try ask(dead, device: device)] {
        for (answer, none) in zip(answers, expected) { #expect(answer == none, "\(sender)") }
      }
    }
    #expect(try scene.server.findings().isEmpty)
  }

  /// Other ways to name the same.
  private func others(_ target: AccessScene.Target) -> [Guess] {
    let path = "/v1/tables/\(target.table)"
    let (table, id) = (JSONValue.string(target.table), JSONValue.string(target.id))
    let (zone, parent) = (JSONValue.string(target.zone), JSONValue.string(target.parent))
    func batch(_ operation: JSONValue, atomic: Bool) -> Guess {
      Guess(
        method: "POST", path: "/v1/batch", body: ["operations": [operation], "atomic": .bool(atomic)])
    }
    return [
      Guess(method: "GET", path: "\(path)?ids=\(target.id)"),
      Guess(method: "GET", path: "\(path)?zone=\(target.zone)"),
      Guess(method: "GET", path: "/v1/tables/items?where.list_id=\(target.parent)"),
      Guess(method: "GET", path: "/v1/tables/conflicts?where.record_id=\(target.id)"),
      Guess(method: "GET", path: "/v1/zones/\(target.zone)/changes?since=5f1c2a9e.1"),
      Guess(method: "GET", path: "/v1/zones/\(target.zone)/changes?since=none"),
      Guess(method: "PATCH", path: "\(path)/\(target.id)", body: ["columns": [:]], condition: "\"1\""),
      Guess(method: "DELETE", path: "\(path)/\(target.id)", condition: "\"7\""),
      Guess(method: "POST", path: "/v1/tables/items", body: ["columns": ["list_id": zone, "title": "x"]]),
      Guess(method: "POST", path: "/v1/tables/seals", body: ["columns": ["item_id": id]]),
      Guess(method: "POST", path: "/v1/tables/seals", body: ["columns": ["item_id": parent]]),
      Guess(method: "POST", path: "/v1/tables/notes", body: ["columns": ["text": "x", "list_id": parent]]),
      Guess(
        method: "POST", path: "/v1/tables/members",
        body: ["zone": zone, "columns": ["name": "other", "role": "owner"]]),
      batch(["op": "delete", "table": table, "id": id], atomic: false),
      batch(["op": "restore", "table": table, "id": id, "columns": [:]], atomic: false),
      batch(["op": "update", "table": table, "id": id, "if_match": 3, "columns": [:]], atomic: true),
    ]
  }

  /// An answer with all its fields, without the ids that were asked for.
  private func answer(
    _ guess: Guess, _ token: String?, _ scene: AccessScene, _ target: AccessScene.Target, device: String
  ) throws -> String {
    var request = TestServer.request(guess.method, guess.path, guess.body?.bytes ?? [], token: token)
    if let condition = guess.condition { request.headers.append(name: "If-Match", value: condition) }
    let response = try scene.server.respond(to: request)
    let fields = response.headers.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
    let isShown = response.content.firstRange(of: Array(target.secret.utf8)) != nil
    // An invitation has an id of its own.
    let path = guess.path.split(separator: "/invitations/")[0]
    let text =
      "\(guess.method) \(path)\n\(response.status)\n\(fields)\n"
      + String(decoding: response.content, as: UTF8.self)
    return Self.anonymous(text, target, device: device) + (isShown ? "shown" : "")
  }

  private static func anonymous(_ text: String, _ target: AccessScene.Target, device: String = "device")
    -> String
  {
    text.replacing(target.id, with: "ID").replacing(target.zone, with: "ZONE")
      .replacing(target.parent, with: "PARENT").replacing(device, with: "DEVICE")
  }

  @Test(
    "a device that syncs edits of such records, or says that it has the zone, is told the same (I10)",
    arguments: tables)
  func sync(_ table: String) throws {
    let scene = try AccessScene()
    let (live, dead) = (try scene.makeTarget(table), try scene.makeTarget(table))
    if table != "conflicts" { try scene.alice.send("DELETE", "/v1/tables/\(table)/\(dead.id)") }
    func ask(_ target: AccessScene.Target) throws -> [String] {
      let change = DocumentedOperation.change(table, target)
      let child: JSONValue = ["list_id": .string(target.zone), "title": "x"]
      let sets: [[Sent]] = [
        [.update(table, target.id, change)], [.delete(table, target.id)],
        [.create("items", scene.server.world.id(), child)],
        [.create("seals", scene.server.world.id(), ["item_id": .string(target.id)])],
      ]
      return try ["", "5f1c2a9e.1"].map { ack in
        let device = try scene.server.signIn("other")
        device.unsentAcks = [.init(zone: target.zone, token: ack)]
        device.acks = [target.zone: ack]
        let answer = try JSONValue(parsing: scene.server.respond(to: device.request(sets)).body)
        let sent = ["confirmed", "refused", "zones", "lost", "resend"].map { name in
          "\(name) " + String(decoding: (answer[name] ?? .null).bytes, as: UTF8.self)
        }
        return Self.anonymous(sent.joined(separator: "\n"), target).replacing(device.user, with: "USER")
      }
    }
    let expected = try ask(scene.ghost(of: live))
    #expect(expected.allSatisfy { $0.contains("lost [\"") })
    #expect(try ask(live) == expected)
    #expect(try ask(dead) == expected)
    #expect(try scene.server.findings().isEmpty)
  }
}
