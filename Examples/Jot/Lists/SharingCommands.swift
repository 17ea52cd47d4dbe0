import Holdfast

extension Command {
  static let share = Command(
    "share", taking: "LIST NAME", words: 2...2, "share a list with another account, or change the role there",
    details:
      "Works offline; the server says at the next sync when there is no such account (see `jot quarantine`).",
    options: [.role, .sync]
  ) { call in
    let role = try role(call.arguments[.role] ?? Role.editor.rawValue)
    let name = call.words[1]
    // Whom it reaches, where somebody can say so: a name says little.
    if let found = try? await call.open().engine().user(named: name) {
      let word = found.issuer.map { "vouched for by \($0)" } ?? "with a password"
      Terminal.output.say("\(found.user.name) is the user \(found.user.id), \(word).")
    }
    try await call.edit { database in
      let list = try database.list(call.words[0])
      if let member = try database.member(name, of: list) {
        try database.update(Member.self, id: member.id) { $0.role = role.rawValue }
      } else {
        try database.insert(Member(id: database.newID(), zone: list.id, name: name, role: role.rawValue))
      }
      return "\(name) is \(role == .viewer ? "a" : "an") \(role.rawValue) of \(list.title)."
    }
  }

  static let members = Command(
    "members", taking: "LIST", words: 1...1, "show who shares a list", options: [.json]
  ) { call in
    let members = try await call.open().store.read { try $0.members(of: try $0.list(call.words[0])) }
    let json = members.map { member in
      JSONValue.object([
        .init("name", .string(member.label)), .init("role", .string(member.role)),
        .init("user", JSONValue(member.user)), .init("accepted", .bool(member.invitedBy == nil)),
      ])
    }
    call.show(.array(json)) { terminal in
      var columns = Columns("name", "role")
      for member in members {
        columns.add(member.label, member.role + (member.invitedBy == nil ? "" : " (invited)"))
      }
      return columns.text(terminal)
    }
  }

  static let unshare = Command(
    "unshare", taking: "LIST NAME", words: 2...2,
    "share a list no longer with somebody; with your own name, leave it",
    options: [.sync]
  ) { call in
    try await call.edit { database in
      let list = try database.list(call.words[0])
      guard let member = try database.member(call.words[1], of: list) else {
        throw Failure(.data, "\(call.words[1]) is no member of \(list.title); `jot members` shows who is.")
      }
      try database.delete(Member.self, id: member.id)
      return "\(call.words[1]) is no member of \(list.title) any more."
    }
  }

  static func role(_ name: String) throws -> Role {
    guard let role = Role(rawValue: name) else {
      throw Failure(
        .usage,
        "There is no role \"\(name)\"; choose \(Role.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return role
  }
}
