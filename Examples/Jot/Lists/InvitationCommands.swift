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
    Terminal.output.write("Pass this on: jot accept \(invitation.token)\n")
  }

  static let accept = Command(
    "accept", taking: "TOKEN", words: 1...1, "accept an invitation to a list", options: [.server]
  ) { call in
    let notebook = try call.open()
    let engine = try notebook.engine()
    let zone = try await engine.accept(invitation: call.words[0])
    try await Syncing(notebook, engine).run()
    let list = try await notebook.store.read { try $0.list(zone) }
    Terminal.output.write("You share \(list.title) now.\n")
  }
}
