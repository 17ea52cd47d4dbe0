import HoldfastSystem

/// What the server of a test says of unexpected failures.
final class ServerLog: Sendable {
  private let all = Locked<[String]>([])

  var lines: [String] { all.withLock { $0 } }

  func add(_ line: String) { all.withLock { $0.append(line) } }
}
