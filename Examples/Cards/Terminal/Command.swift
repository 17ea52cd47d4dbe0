import CardsModel
import Foundation
import Holdfast

/// A command of the program.
struct Command: Sendable {
  /// How it is called, such as `add SET TERM DEFINITION`.
  let form: String
  let counts: ClosedRange<Int>
  var options: [String] = []
  let summary: String
  let run: @Sendable (Session, [String]) async throws -> Void

  var name: Substring { form.prefix { $0 != " " } }

  static let all: [Command] = setCommands + classCommands + studyCommands + accountCommands

  static var help: String {
    let width = all.map(\.form.count).max() ?? 0
    let lines = all.map {
      "  \($0.form.padding(toLength: width, withPad: " ", startingAt: 0))  \($0.summary)"
    }
    return """
      Flash cards that work without a network. A set, a term or a class is named by its title, its beginning, or its id.

      \(lines.joined(separator: "\n"))

      Every command: --db FILE (or CARDS_DB), --server URL (or CARDS_SERVER), --seed FILE (or CARDS_SEED): the catalogue that a new database begins with.
      """
  }

  // MARK: Sets

  private static let setCommands = [
    Command(form: "sets", counts: 0...0, summary: "Lists the sets: your own and those of your classes.") {
      session, _ in
      for set in try await session.cards.sets() {
        say("\(set.title)  (\(set.count) terms, \(set.subject.rawValue))")
      }
    },
    Command(form: "show SET", counts: 1...1, summary: "Shows the terms of a set in their order.") {
      session, words in
      for term in try await session.cards.terms(of: session.set(words[0])) {
        say("\(term.term) = \(term.definition)")
      }
    },
    Command(
      form: "new TITLE [TERM=DEFINITION…]", counts: 1...1000, options: ["subject"],
      summary: "Makes a set; --subject languages, science, history or other."
    ) { session, words in
      let terms = try words.dropFirst().map { word in
        let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw Usage("Write a term as TERM=DEFINITION, not \"\(word)\".") }
        return (term: parts[0], definition: parts[1])
      }
      let subject = StudySet.Subject(rawValue: session.options.values["subject"] ?? "other")
      try await session.cards.makeSet(words[0], terms, subject: subject)
    },
    Command(
      form: "add SET TERM DEFINITION", counts: 3...3, options: ["first", "last", "after"],
      summary: "Adds a term: at the end, --first, or --after TERM."
    ) { session, words in
      let set = try await session.set(words[0])
      try await session.cards.add(words[1], words[2], to: set, at: session.place(in: set))
    },
    Command(form: "define SET TERM DEFINITION", counts: 3...3, summary: "Changes a definition.") {
      session, words in
      let set = try await session.set(words[0])
      try await session.cards.define(session.term(words[1], in: set), as: words[2])
    },
    Command(
      form: "move SET TERM", counts: 2...2, options: ["first", "last", "after"],
      summary: "Moves a term: to the end, --first, or --after TERM."
    ) { session, words in
      let set = try await session.set(words[0])
      try await session.cards.move([session.term(words[1], in: set)], to: session.place(in: set))
    },
    Command(
      form: "remove SET [TERM]", counts: 1...2, summary: "Deletes a term, or a whole set for all who have it."
    ) {
      session, words in
      let set = try await session.set(words[0])
      if words.count == 1 { return try await session.cards.remove(set: set) }
      try await session.cards.remove(term: session.term(words[1], in: set))
    },
    Command(form: "file FOLDER SET…", counts: 2...1000, summary: "Puts sets into a folder of your own.") {
      session, words in
      var sets: [String] = []
      for word in words.dropFirst() { sets.append(try await session.set(word)) }
      try await session.cards.file(sets, under: words[0])
    },
    Command(form: "folders", counts: 0...0, summary: "Lists your folders.") { session, _ in
      for folder in try await session.cards.folders() {
        say("\(folder.name): \(folder.titles.joined(separator: ", "))")
      }
    },
    Command(form: "catalogue", counts: 0...0, summary: "Lists the sets that came with the app.") {
      session, _ in
      for set in try await session.cards.catalogue() { say(set.title) }
    },
    Command(form: "copy SET", counts: 1...1, summary: "Makes a set of your own of one of the catalogue.") {
      session, words in
      _ = try await session.cards.copy(catalogueSet: session.catalogueSet(words[0]))
    },
    Command(
      form: "publish SET", counts: 1...1,
      summary: "Puts a copy of a set into the catalogue, as one of its editors."
    ) {
      session, words in
      try await session.cards.publish(set: session.set(words[0]))
    },
  ]

  // MARK: Classes

  private static let classCommands = [
    Command(form: "classes", counts: 0...0, summary: "Lists your classes, their people and their sets.") {
      session, _ in
      for group in try await session.cards.classes() {
        say(
          "\(group.name): \(group.people.joined(separator: ", ")); sets: \(group.titles.joined(separator: ", "))"
        )
      }
    },
    Command(form: "new-class NAME", counts: 1...1, summary: "Makes a class, whose teacher you are.") {
      session, words in
      try await session.cards.makeClass(words[0])
    },
    Command(
      form: "invite CLASS", counts: 1...1, options: ["teacher"],
      summary: "Makes a link for 30 people; --teacher for one more teacher."
    ) { session, words in
      let isTeacher = session.options.flags.contains("teacher")
      say(
        try await session.cards.invite(
          to: session.group(words[0]), asTeacher: isTeacher, uses: isTeacher ? 1 : 30))
    },
    Command(form: "join LINK", counts: 1...1, summary: "Joins a class.") { session, words in
      try await session.cards.join(words[0])
      _ = try await session.cards.requireEngine().sync()
    },
    Command(
      form: "share SET CLASS", counts: 2...2, options: ["edit"],
      summary: "Shares a set with a class of yours; with --edit its people may change it."
    ) { session, words in
      try await session.cards.share(
        set: session.set(words[0]), with: session.group(words[1]),
        canEdit: session.options.flags.contains("edit"))
    },
    Command(form: "unshare SET CLASS", counts: 2...2, summary: "Takes a set back from a class.") {
      session, words in
      try await session.cards.unshare(set: session.set(words[0]), from: session.group(words[1]))
    },
  ]

  // MARK: Studying

  private static let studyCommands = [
    Command(
      form: "study SET", counts: 1...1, summary: "Asks for each term's definition, the ones you miss first."
    ) {
      session, words in
      let set = try await session.set(words[0])
      for term in try await session.cards.termsToStudy(in: set) {
        say("\(term.term)?")
        guard let line = readLine() else { return }
        let isKnown = line.trimmingCharacters(in: .whitespaces).lowercased() == term.definition.lowercased()
        say(isKnown ? "  yes" : "  no: \(term.definition)")
        try await session.cards.answer(term.id, isKnown: isKnown)
      }
    },
    Command(form: "progress SET", counts: 1...1, summary: "Shows how often you knew and missed each term.") {
      session, words in
      for term in try await session.cards.progress(of: session.set(words[0])) {
        say("\(term.term): \(term.known) known, \(term.missed) missed")
      }
    },
    Command(
      form: "conflicts", counts: 0...0, options: ["keep", "other"],
      summary:
        "Shows definitions that two people changed, the one that holds first; --keep or --other decides. Of a term that is gone only --keep does."
    ) { session, _ in
      for conflict in try await session.cards.store.read({ try $0.conflicts(onlyOpen: true) }) {
        say("\(conflict.winner.value?.stringValue ?? "") | \(conflict.loser.value?.stringValue ?? "")")
        if session.options.flags.isDisjoint(with: ["keep", "other"]) { continue }
        let isOther = session.options.flags.contains("other")
        do {
          try await session.cards.store.write { try $0.resolve(conflict, taking: isOther ? .loser : .winner) }
        } catch let error as StoreError where error.code == .recordMissing { say("  \(error)") }
      }
    },
  ]

  // MARK: The account

  private static let accountCommands = [
    Command(
      form: "sign-up NAME", counts: 1...1, summary: "Makes an account; CARDS_PASSWORD has the password."
    ) {
      session, words in
      let engine = try session.cards.requireEngine()
      try await engine.signUp(name: words[0], password: session.password(), device: "terminal")
      _ = try await engine.sync()
    },
    Command(form: "sign-in NAME", counts: 1...1, summary: "Signs this device in.") { session, words in
      let engine = try session.cards.requireEngine()
      try await engine.signIn(name: words[0], password: session.password(), device: "terminal")
      _ = try await engine.sync()
    },
    Command(form: "sync", counts: 0...0, summary: "Sends what was written here, and gets what others wrote.")
    {
      session, _ in
      let summary = try await session.cards.requireEngine().sync()
      print("\(summary.sent) sent, \(summary.received) received, \(summary.quarantined) refused")
    },
    Command(
      form: "status", counts: 0...0,
      summary: "Shows who is signed in, what waits, and what was refused and why."
    ) {
      session, _ in
      let account = try await session.cards.store.account()
      say("user: \(account?.name ?? "nobody"); \(try await session.cards.store.waitingOperations()) waiting")
      for set in try await session.cards.store.quarantined() {
        say("\(set.number) refused: \(set.reason)")
        for operation in set.operations {
          let values = operation.columns.sorted { $0.key < $1.key }.map {
            "\($0.key)=\($0.value.stringValue ?? String(decoding: $0.value.bytes, as: UTF8.self))"
          }
          say("   \(operation.kind.rawValue) \(operation.table) \(values.joined(separator: ", "))")
        }
      }
    },
    Command(form: "resend NUMBER", counts: 1...1, summary: "Writes again what was refused, to be sent.") {
      session, words in
      try await session.cards.store.resend(session.refused(words[0]))
    },
    Command(form: "discard NUMBER", counts: 1...1, summary: "Discards what was refused, for good.") {
      session, words in
      try await session.cards.store.discard(session.refused(words[0]))
    },
  ]
}
