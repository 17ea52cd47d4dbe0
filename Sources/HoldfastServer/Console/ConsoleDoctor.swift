import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// Runs the doctor for the console, on a thread and a connection of its own, once at a time.
///
/// @unchecked Sendable: the state is accessed only with the thread's lock held.
final class ConsoleDoctor: @unchecked Sendable {
  /// The time after which an examination is interrupted.
  static let timeLimit = Duration.seconds(600)
  /// The findings that are shown.
  static let findingLimit = 200

  private enum State {
    case never
    case asked
    case running(since: Int64, until: MonotonicTime)
    case done(since: Int64, until: Int64, findings: [String], count: Int)
    case failed(at: Int64, reason: String)
  }

  private let thread = BackgroundThread()
  private let open: @Sendable () throws -> Administration
  private let now: @Sendable () -> Int64
  private var hasThread = false
  private var state = State.never
  /// Makes the running statement fail.
  private var interrupt: (@Sendable () -> Void)?

  /// - Parameters:
  ///   - open: a connection for each examination.
  ///   - now: milliseconds since 1970.
  init(open: @escaping @Sendable () throws -> Administration, now: @escaping @Sendable () -> Int64) {
    (self.open, self.now) = (open, now)
  }

  /// Examines the database, each time that it is asked to.
  private func run() {
    while true {
      let isAsked: Void? = thread.next { if case .asked = state { .work(()) } else { .nothing(until: nil) } }
      if isAsked == nil { return }
      let began = now()
      set(.running(since: began, until: .exact + Self.timeLimit))
      do {
        let administration = try open()
        let interruption = try administration.operators.interruption()
        thread.lock.hold { interrupt = interruption }
        let found = try administration.doctor().map { "\($0) Remedy: \($0.kind.remedy)" }
        let doubts = try administration.doubts().map { "in doubt: \($0)" }
        let shown = (found + doubts).prefix(Self.findingLimit)
        set(.done(since: began, until: now(), findings: Array(shown), count: found.count + doubts.count))
      } catch { set(.failed(at: now(), reason: "\(error)")) }
    }
  }

  private func set(_ state: State) {
    thread.lock.hold {
      self.state = state
      if case .running = state {} else { interrupt = nil }
      thread.lock.broadcast()
    }
  }

  /// Begins an examination, unless one is running. The first one starts the thread.
  func begin() throws(ServerError) {
    let isFirst = thread.lock.hold {
      switch state {
      case .asked, .running: return false
      case .never, .done, .failed: state = .asked
      }
      thread.lock.broadcast()
      defer { hasThread = true }
      return !hasThread
    }
    if isFirst { try thread.start { [self] in run() } }
  }

  /// Interrupts an examination that has taken too long.
  func enforceTimeLimit() {
    thread.lock.hold { if case .running(_, let end) = state, MonotonicTime.exact >= end { interrupt?() } }
  }

  /// Interrupts the examination, and ends the thread. Call it once.
  func stop() {
    thread.lock.hold {
      if case .asked = state { state = .never }
      // An interruption between two statements has no effect.
      while case .running = state {
        interrupt?()
        thread.lock.wait(until: .exact + .milliseconds(20))
      }
    }
    thread.stop()
  }

  /// The content of `GET /console/api/doctor`.
  var json: JSONValue {
    let state = thread.lock.hold { self.state }
    func answer(_ name: String, _ members: [JSONValue.Member] = []) -> JSONValue {
      .object([.init("state", .string(name))] + members)
    }
    switch state {
    case .never: return answer("never")
    case .asked: return answer("running", [.init("since", .time(now()))])
    case .running(let since, _): return answer("running", [.init("since", .time(since))])
    case .done(let since, let until, let findings, let count):
      return answer(
        "done",
        [
          .init("since", .time(since)), .init("until", .time(until)), .init("count", .integer(Int64(count))),
          .init("findings", .array(findings.map { .cut($0) })),
        ])
    case .failed(let at, let reason):
      return answer("failed", [.init("until", .time(at)), .init("reason", .cut(reason))])
    }
  }
}
