import Holdfast

extension Command {
  static let conflicts = Command(
    "conflicts", "show concurrent edits, questions that wait for an answer first",
    details: """
      The value that was kept is in the list. `jot resolve` says which one is right; in a terminal the open
      questions are asked one by one.
      """, options: [.json, .sync]
  ) { call in
    let notebook = try call.open()
    let conflicts = try await notebook.store.shownConflicts()
    call.show(.array(conflicts.map(\.json))) { ConflictsText.text(conflicts, $0) }
    if !call.isJSON, try await Questions(notebook).ask() > 0 { try await call.syncIfAsked(notebook) }
  }

  static let resolve = Command(
    "resolve", taking: "CONFLICT", words: 1...1, "choose between the two values of a conflict",
    details: """
      CONFLICT is what `jot conflicts` shows in front of it, or an id. An item that was deleted while somebody
      edited it comes back with --take other, with what the edits say of it. They must say its title: else add it
      again. Of a record that is gone --take kept closes the question.
      """, options: [.take, .value, .sync]
  ) { call in
    let choice = try choice(call.arguments)
    try await call.edit { database in
      let conflict = try database.conflict(call.words[0])
      try database.resolve(conflict, taking: choice(conflict, database.schema))
      return "Closed \(conflict.short): \(conflict.column)."
    }
  }

  private static func choice(
    _ arguments: Arguments
  ) throws -> @Sendable (Conflict, SyncSchema) throws -> Conflict.Choice {
    switch (arguments[.take], arguments[.value]) {
    case ("kept", nil): { _, _ in .winner }
    case ("other", nil): { _, _ in .loser }
    case (nil, let text?):
      { conflict, schema in
        .value(try TypedValue.read(text, conflict.column, of: conflict.recordTable, schema))
      }
    default: throw Failure(.usage, "Say --take kept, --take other or --value TEXT.")
    }
  }
}

/// The conflicts as a table.
private enum ConflictsText {
  static func text(_ conflicts: [ShownConflict], _ terminal: Terminal) -> String {
    if conflicts.isEmpty { return "No edits met.\n" }
    var columns = Columns(
      "", "record", "column", "kept", "by", "at", "not kept", "by", "at", "policy", "answer")
    for conflict in conflicts {
      columns.add(
        conflict.short, conflict.title, conflict.column, conflict.winner.text ?? conflict.nothing,
        conflict.winner.person, conflict.winner.time, conflict.loser.text ?? conflict.nothing,
        conflict.loser.person, conflict.loser.time, conflict.policy,
        conflict.conflict.resolution?.rawValue ?? conflict.openness)
    }
    return columns.text(terminal)
  }
}
