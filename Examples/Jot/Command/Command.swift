/// One command of the program.
struct Command: Sendable {
  let name: String
  /// The words that follow, as the help shows them.
  let form: String
  /// How many words may follow.
  let counts: ClosedRange<Int>
  let summary: String
  /// What the help says beyond the summary.
  let details: String
  let options: [Option]
  let run: @Sendable (Invocation) async throws -> Void

  /// Makes a command; the options that all have are added.
  init(
    _ name: String, taking form: String = "", words counts: ClosedRange<Int> = 0...0, _ summary: String,
    details: String = "",
    options: [Option] = [], run: @escaping @Sendable (Invocation) async throws -> Void
  ) {
    self.name = name
    self.form = form
    self.counts = counts
    self.summary = summary
    self.details = details
    self.options = options + Option.common
    self.run = run
  }

  var usage: String { form.isEmpty ? name : "\(name) \(form)" }
}

/// All commands, in the order of the help.
enum Commands {
  static let groups: [(title: String, commands: [Command])] = [
    (
      "Lists",
      [
        .lists, .newList, .items, .add, .check, .rename, .note, .amount, .tag, .move, .renameList, .remove,
        .undo, .watch, .tui,
      ]
    ),
    ("Together", [.share, .members, .unshare, .invite, .invitations, .accept, .decline, .leave]),
    (
      "Account and sync",
      [
        .signUp, .signIn, .signOut, .eraseAccount, .sync, .reset, .status, .conflicts, .resolve,
        .quarantineAmend,
        .quarantineResend, .quarantineDiscard, .quarantine, .schema,
      ]
    ),
    (
      "Catalogue of countries, languages and currencies",
      [.catalogueFollow, .catalogueSearch, .catalogueImport]
    ),
  ]

  static var all: [Command] { groups.flatMap(\.commands) }
  static var options: [Option] { Array(Set(all.flatMap(\.options))) }

  /// The command that some words begin with, and the words behind its name.
  static func find(_ words: [String]) -> (command: Command, rest: [String])? {
    for command in all {
      let name = command.name.split(separator: " ").map(String.init)
      if words.starts(with: name) { return (command, Array(words.dropFirst(name.count))) }
    }
    return nil
  }
}
