import Holdfast
import HoldfastCore
import HoldfastSQLite

/// People's edits on devices, reported to the oracle as the world does.
extension Stage {
  /// Runs one transaction of the app.
  ///
  /// - Parameters:
  ///   - foreign: whether to write as another program, which knows nothing of Holdfast. The triggers record it.
  /// - Returns: whether it was committed and the process is alive.
  @discardableResult
  func write(
    _ number: Int, process: Int = 0, foreign: Bool = false,
    _ body: (Database) throws -> Void
  ) -> Bool {
    let device = self[number]
    guard device.apps.indices.contains(process) else { return false }
    let app = device.apps[process]
    // Otherwise each transaction would draw the same positions.
    world.seed &+= 1
    let environment = world.environment(of: app, device)
    let before = device.view
    do {
      try world.run(as: app.process) {
        guard foreign else { return try AppTransaction(database: app.database).write(environment, body) }
        let database = Database(local: app.database, environment: environment)
        try app.database.connection.transaction(.immediate) { try body(database) }
      }
      guard world.checkLife(app, device, .writing) else { return false }
      world.look(at: device)
      world.oracle.wrote(
        device: device.machine, user: world.userID(of: device), before: before.tables,
        after: device.view.tables)
      if foreign { try seal(app, device) }
      guard world.checkLife(app, device, .other) else { return false }
      world.handle(.edited, app, device)
      return true
    } catch {
      note("\(device.machine): not written: \(error)")
      guard world.checkLife(app, device, .writing) else { return false }
      world.look(at: device)
      expect(
        "I6", device.view.tables == before.tables, "a write that threw \(error) left something behind")
      device.interrupted = .writing
      return false
    }
  }

  /// Seals the writes of another program into a change set before it writes more, because the model treats each transaction as one.
  private func seal(_ app: SimulatedDevice.App, _ device: SimulatedDevice) throws {
    _ = try world.run(as: app.process) {
      try RequestPreparation(database: app.database).prepare(changeSetLimit: 1)
    }
    world.look(at: device)
    world.oracle.applied(device: device.machine, user: world.userID(of: device), view: device.view)
  }

  /// Creates a list, and returns its id.
  @discardableResult
  func makeList(_ device: Int) -> String {
    let (list, title) = (newID(), token())
    write(device) {
      try $0.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(list), .text(title)])
    }
    return list
  }

  /// Creates a list with an item on the first device, and syncs all devices. Returns both ids.
  func makeListWithItem() -> (list: String, item: String) {
    let list = makeList(0)
    let item = makeItem(0, in: list)
    settle()
    return (list, item)
  }

  /// Creates an item at the end of a list, and returns its id.
  @discardableResult
  func makeItem(_ device: Int, in list: String, code: String? = nil, due: String? = nil) -> String {
    let (item, title) = (newID(), token())
    write(device) { db in
      let last = try db.first(
        String.self, "SELECT position FROM items WHERE list_id = ? ORDER BY position DESC, id DESC LIMIT 1",
        [.text(list)])
      try db.execute(
        "INSERT INTO items (id, list_id, title, code, position) VALUES (?, ?, ?, ?, ?)",
        [
          .text(item), .text(list), .text(title), code.map { .text($0) } ?? .null,
          .text(try db.position(after: last, before: nil)),
        ])
      if let due { try db.execute("UPDATE items SET due = ? WHERE id = ?", [.text(due), .text(item)]) }
    }
    return item
  }

  @discardableResult
  func makePart(_ device: Int, of item: String) -> String {
    let (part, text) = (newID(), token())
    write(device) {
      try $0.execute(
        "INSERT INTO parts (id, item_id, text) VALUES (?, ?, ?)", [.text(part), .text(item), .text(text)])
    }
    return part
  }

  /// Creates a note in the user's own zone.
  @discardableResult
  func makeNote(_ device: Int, id: String? = nil) -> String {
    let (note, text) = (id ?? newID(), token())
    write(device) {
      try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text(note), .text(text)])
    }
    return note
  }

  /// Creates a group of rows that must never be seen partially.
  func makePairs(_ device: Int, in list: String, count: Int) {
    let ids = (0..<count).map { _ in newID() }
    let name = newID()
    write(device) { db in
      for id in ids {
        try db.execute(
          "INSERT INTO pairs (id, list_id, pair, size) VALUES (?, ?, ?, ?)",
          [.text(id), .text(list), .text(name), .integer(Int64(count))])
      }
    }
  }

  /// Writes a new text into a column, and returns the text.
  @discardableResult
  func edit(_ device: Int, _ table: String, _ id: String, _ column: String) -> String {
    let text = token()
    set(device, table, id, column, .text(text))
    return text
  }

  @discardableResult
  func set(_ device: Int, _ table: String, _ id: String, _ column: String, _ value: SQLiteValue) -> Bool {
    write(device) { try $0.execute("UPDATE \(table) SET \(column) = ? WHERE id = ?", [value, .text(id)]) }
  }

  func delete(_ device: Int, _ table: String, _ id: String) {
    write(device) { try $0.execute("DELETE FROM \(table) WHERE id = ?", [.text(id)]) }
  }

  /// Makes a user a member of a list, and returns the id of the membership.
  @discardableResult
  func share(_ device: Int, _ list: String, with user: String, role: String = "editor") -> String {
    let member = newID()
    write(device) {
      try $0.execute(
        "INSERT INTO members (id, zone, name, role) VALUES (?, ?, ?, ?)",
        [.text(member), .text(list), .text(user), .text(role)])
    }
    return member
  }

  /// Shares a list with the members of another one.
  func share(_ device: Int, _ list: String, withMembersOf group: String) {
    let member = newID()
    write(device) {
      try $0.execute(
        "INSERT INTO members (id, zone, \"group\", role) VALUES (?, ?, ?, 'editor')",
        [.text(member), .text(list), .text(group)])
    }
  }
}

/// An invitation to a list, as its creator received it.
struct ReceivedInvitation {
  let id: String
  let token: String
}

/// Requests besides syncs, which need a connection.
extension Stage {
  /// Sends a request of a device's user, once.
  ///
  /// - Returns: the answer, if it arrived in time.
  @discardableResult
  func ask(_ number: Int, _ method: String, _ path: String, _ body: JSONValue? = nil) -> Inquiry {
    let inquiry = begin(number, method, path, body)
    // The waiting time of an app.
    let end = world.now + 31_000
    while inquiry.answer == nil, world.now < end, let next = world.timeline.nextTime, next <= end,
      world.oracle.violations.isEmpty
    { pass(next - world.now) }
    return inquiry
  }

  /// Sends a request without waiting.
  @discardableResult
  func begin(_ number: Int, _ method: String, _ path: String, _ body: JSONValue? = nil) -> Inquiry {
    let (device, inquiry) = (self[number], Inquiry())
    if let app = device.apps.first { world.ask(method, path, body, inquiry, app, device) }
    return inquiry
  }

  /// Creates an invitation to a list.
  func invite(
    _ device: Int, to list: String, role: String = "editor", seconds: Int64 = 86_400, uses: Int64 = 1
  ) -> ReceivedInvitation {
    let answer = ask(
      device, "POST", "v1/zones/\(list)/invitations",
      ["role": .string(role), "expires_in": .integer(seconds), "uses": .integer(uses)])
    expect("I10", answer.answer?.status == 201, "an owner makes invitations")
    world.oracle.invited(to: list, role: role, uses: Int(uses))
    return ReceivedInvitation(
      id: answer.json["id"]?.stringValue ?? "", token: answer.json["token"]?.stringValue ?? "")
  }

  @discardableResult
  func accept(_ device: Int, _ invitation: ReceivedInvitation) -> Inquiry {
    ask(device, "POST", "v1/invitations/accept", ["token": .string(invitation.token)])
  }

  /// Accepts repeatedly, as a person does, until there is an answer.
  func acceptUntilAnswered(_ device: Int, _ invitation: ReceivedInvitation) -> Inquiry {
    for _ in 0..<10 {
      let inquiry = accept(device, invitation)
      if let status = inquiry.answer?.status, status < 500 { return inquiry }
      pass(2000)
    }
    return Inquiry()
  }

  /// Expects that an invitation is refused as invalid, and changes nothing.
  func expectInvalid(_ device: Int, _ invitation: ReceivedInvitation, _ reason: String) {
    world.lookAtServer()
    let before = server.tables
    let inquiry = acceptUntilAnswered(device, invitation)
    expect(
      "I10", inquiry.answer?.status == 404 && inquiry.json["code"]?.stringValue == "invitation-invalid",
      "an invitation that \(reason) is refused, not answered \(inquiry.answer?.status ?? 0)")
    world.lookAtServer()
    expect("I6", server.tables == before, "an invitation that \(reason) changes nothing")
  }

  /// The roles of a device's user in a list, according to `members`: at most one.
  func roles(of device: Int, in list: String) -> [String] {
    let user = world.userID(of: self[device])
    return server.tables.filter {
      $0.key.table == "members" && $0.value.zone == list && $0.value["user"]?.string == user
    }.compactMap { $0.value["role"]?.string }
  }
}
