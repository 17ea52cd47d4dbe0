import Holdfast

/// The questions that wait for an answer, asked one by one in a terminal.
struct Questions {
  private let store: Store

  init(_ notebook: Notebook) { store = notebook.store }

  /// Asks them, where a person can answer; else says on the standard output how many there are.
  ///
  /// - Returns: how many were answered.
  func ask() async throws -> Int {
    let open = try await store.shownConflicts().filter(\.conflict.isOpen)
    guard Terminal.canAsk else {
      if !open.isEmpty {
        Terminal.output.write(
          "\(open.count.of("question")) to be answered: `jot conflicts` shows them, `jot resolve` answers.\n")
      }
      return 0
    }
    var answered = 0
    for question in open where try await ask(question) { answered += 1 }
    return answered
  }

  private func ask(_ question: ShownConflict) async throws -> Bool {
    let terminal = Terminal.output
    terminal.write(
      """

      \(terminal.paint(question.title.shown, .bold)): which \(question.column.shown) is right?
           before  \((question.base ?? "not known").shown)
        1  \(question.line(of: question.winner).shown), kept so far
        2  \(question.line(of: question.loser).shown)
      \(question.isHere ? "" : "The record is gone: 1 closes the question.\n")
      """)
    guard let answer = Terminal.ask("1, 2, or Enter to decide later: "), answer == "1" || answer == "2" else {
      return false
    }
    do {
      try await store.write { try $0.resolve(question.conflict, taking: answer == "1" ? .winner : .loser) }
      return true
    } catch let error as StoreError where error.code == .recordMissing || error.code == .conflictResolved {
      terminal.say(error.description)
      return false
    }
  }
}
