import Holdfast

/// The exit codes, those of sysexits.h where it has one.
enum ExitStatus: Int32 {
  case other = 1
  case usage = 64
  case data = 65
  case unreachable = 69
  case signedOut = 77

  /// All of them, for the help.
  static let explained: [(code: String, meaning: String)] = [
    ("0", "done"), ("1", "another failure"), ("64", "the command line is wrong"),
    ("65", "no such list or item, or a value that does not fit"),
    ("69", "the server can't be reached or has no time; edits stay and are sent later"),
    ("77", "not signed in, or name or password is wrong"),
  ]
}

/// What a person is told when a command can't be done, and the code that a script sees.
struct Failure: Error {
  let status: ExitStatus
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  /// Finds the exit code of any error.
  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StoreError: self.init(Self.status(of: error), error.description)
    case let problem as Problem: self.init(Self.status(of: problem), problem.description)
    case let error as SQLiteError where error.code.primary == .constraint:
      self.init(.data, "The database refuses this: \(error)")
    default: self.init(.other, "\(error)")
    }
  }

  private static func status(of error: StoreError) -> ExitStatus {
    switch error.code {
    case .offline: .unreachable
    case .signedOut: .signedOut
    case .recordMissing, .valueUnfit, .changeSetTooLarge, .conflictResolved, .operationRefused,
      .nothingToUndo:
      .data
    default: .other
    }
  }

  private static func status(of problem: Problem) -> ExitStatus {
    switch problem.code.status {
    case 401: .signedOut
    case 408, 429, 500...: .unreachable
    case 400, 409, 422: .data
    default: .other
    }
  }
}
