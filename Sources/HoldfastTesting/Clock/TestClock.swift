public import Foundation
import HoldfastConcurrency
import HoldfastSystem

/// The time of a test: that of the server and of all devices. It moves when the test says so, and by a millisecond each time that
/// somebody looks at it, so that a later edit is later.
///
/// ```swift
/// world.clock.advance(by: .seconds(100 * 86_400))
/// ```
public final class TestClock: Sendable {
  private struct Sleeper {
    let deadline: Int64
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var time: Int64
    var sleepers: [Int: Sleeper] = [:]
    var last = 0
    /// Those that were cancelled before they slept.
    var cancelled: Set<Int> = []
  }

  private let state: Locked<State>

  /// - Parameter start: in milliseconds since 1970.
  init(start: Int64) { state = Locked(State(time: start)) }

  /// What the clock shows.
  public var date: Date { Date(timeIntervalSince1970: Double(state.withLock { $0.time }) / 1000) }

  /// Moves the clock on. What waits for a moment up to then, such as an engine's timer, goes on; `TestWorld.settle()` waits for the outcome.
  public func advance(by duration: Duration) {
    let due = state.withLock { state -> [Sleeper] in
      state.time += max(0, duration.milliseconds)
      let numbers = state.sleepers.filter { $0.value.deadline <= state.time }.keys.sorted()
      return numbers.compactMap { state.sleepers.removeValue(forKey: $0) }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Milliseconds since 1970.
  func look() -> Int64 {
    state.withLock { state in
      state.time += 1
      return state.time
    }
  }

  /// Waits until the clock was moved on by so much.
  ///
  /// - Throws: `CancellationError`.
  func sleep(for duration: Duration) async throws {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if state.cancelled.remove(number) != nil { return true }
          state.sleepers[number] = Sleeper(
            deadline: state.time + duration.milliseconds, continuation: continuation)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        guard let sleeper = state.sleepers.removeValue(forKey: number) else {
          state.cancelled.insert(number)
          return nil
        }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}

extension Duration {
  fileprivate var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isBeyond) = seconds.multipliedReportingOverflow(by: 1000)
    return isBeyond ? .max / 2 : min(whole, .max / 2) + attoseconds / 1_000_000_000_000_000
  }
}
