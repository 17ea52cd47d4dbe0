/// How important a line of the log is.
public enum LogLevel: String, Comparable, CaseIterable, Sendable {
  /// Answers to health checks.
  case debug
  /// Requests, and what the server does by itself.
  case info
  /// What an operator should look at in the next days.
  case warning
  /// What failed.
  case error

  /// Whether one is less important than the other.
  public static func < (left: LogLevel, right: LogLevel) -> Bool {
    allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
  }
}
