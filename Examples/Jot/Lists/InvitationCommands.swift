import Holdfast

extension Command {
  static let invite = Command(
    "invite", taking: "LIST", words: 1...1, "make an invitation to a list, for somebody to accept",
    details: "It is good for one person, for 7 days. Takes a connection.", options: [.server, .role]
  ) { call in
    let role = try role(call.arguments[.role] ?? Role.editor.rawValue)
    let notebook = try call.open()
    let list = try await notebook.store.read { try $0.list(call.words[0]) }
    let invitation = try await notebook.engine().invite(to: list.id, role: role)
    Terminal.output.say("Pass this on: jot accept \(invitation.token)")
  }

  static let accept = Command(
    "accept", taking: "TOKEN|ID", words: 1...1, "accept an invitation to a list",
    details: "TOKEN is of `jot invite`, ID of `jot invitations`.", options: [.server]
  ) { call in
    let notebook = try call.open()
    let engine = try notebook.engine()
    let word = call.words[0]
    let zone = try await isID(word) ? engine.accept(membership: word) : engine.accept(invitation: word)
    try await Syncing(notebook, engine).run()
    let list = try await notebook.store.read { try $0.list(zone) }
    Terminal.output.say("You share \(list.title) now.")
  }

  static let invitations = Command(
    "invitations", words: 0...0, "show who wants to share lists with you",
    details: "They wait for `jot accept ID` or `jot decline ID`. Takes a connection.",
    options: [.server, .json]
  ) { call in
    let waiting = try await call.open().engine().pendingMemberships()
    let json = waiting.map { membership in
      JSONValue.object([
        .init("id", .string(membership.id)), .init("title", membership.title.map { .string($0) } ?? .null),
        .init("role", .string(membership.role.rawValue)), .init("from", .string(membership.inviter.name)),
      ])
    }
    call.show(.array(json)) { terminal in
      var columns = Columns("id", "list", "role", "from")
      for membership in waiting {
        columns.add(
          membership.id, membership.title ?? "", membership.role.rawValue, membership.inviter.name)
      }
      return columns.text(terminal)
    }
  }

  static let decline = Command(
    "decline", taking: "ID", words: 1...1, "decline an invitation of `jot invitations`",
    options: [.server, .block]
  ) { call in
    let engine = try call.open().engine()
    let waiting = try await engine.pendingMemberships().first { $0.id == call.words[0] }
    guard let waiting else { throw Failure(.data, "No such invitation waits; see `jot invitations`.") }
    try await engine.decline(membership: waiting.id)
    if call.arguments.has(.block) { try await engine.block(user: waiting.inviter.id) }
    Terminal.output.say("You do not share it.")
  }

  static let leave = Command(
    "leave", taking: "LIST", words: 1...1, "leave a list, also one that a group gives you", options: [.server]
  ) { call in
    let notebook = try call.open()
    let engine = try notebook.engine()
    let list = try await notebook.store.read { try $0.list(call.words[0]) }
    try await engine.leave(zone: list.id)
    try await Syncing(notebook, engine).run()
    Terminal.output.say("You do not share \(list.title) any more.")
  }

  /// Whether a word is the id of a record; tokens are longer.
  private static func isID(_ word: String) -> Bool { word.utf8.count == 36 }
}
