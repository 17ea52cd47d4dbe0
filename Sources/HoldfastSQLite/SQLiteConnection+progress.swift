internal import CSQLite

extension SQLiteConnection {
  /// Runs `body`, whose statements fail with `.interrupt` soon after `isOver` has said yes.
  ///
  /// It is asked about once in a millisecond of work, on this thread. Source: <https://www.sqlite.org/c3ref/progress_handler.html>.
  public func run<Result>(
    until isOver: () -> Bool, _ body: () throws -> Result
  ) rethrows -> Result {
    try withoutActuallyEscaping(isOver) { isOver in
      let question = Question(isOver)
      sqlite3_progress_handler(
        database, 20_000, { context in askQuestion(context) }, Unmanaged.passUnretained(question).toOpaque())
      defer {
        sqlite3_progress_handler(database, 0, nil, nil)
        question.isOver = { false }
      }
      return try withExtendedLifetime(question) { try body() }
    }
  }
}

/// What the progress handler asks.
private final class Question {
  var isOver: () -> Bool

  init(_ isOver: @escaping () -> Bool) { self.isOver = isOver }
}

private func askQuestion(_ context: UnsafeMutableRawPointer?) -> Int32 {
  guard let context else { return 0 }
  return Unmanaged<Question>.fromOpaque(context).takeUnretainedValue().isOver() ? 1 : 0
}
