import HoldfastSystem

/// Whether a store is to let go of its file, and whether it has. The last word counts, also when it comes while the one before is still followed.
///
/// A visit is work in the background, for which the file of a suspended store is open.
final class Suspension: Sendable {
  private struct State {
    /// Whether the app has suspended the store and not resumed it since.
    var isAsked = false
    /// Whether the file is let go of, or just going.
    var isOn = false
    var visits = 0
    /// Counts the words of the app, each of which ends the visits before it.
    var words = 0
    /// Whether somebody opens or closes the file.
    var isBusy = false
    /// Who waits for that.
    var successors: [CheckedContinuation<Void, Never>] = []
    /// Who waits for the file.
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Locked(State())

  deinit { end() }

  var isOn: Bool { state.withLock { $0.isOn } }

  /// Whether the file is to be let go of.
  var isDue: Bool { state.withLock { $0.isAsked && $0.visits == 0 } }

  /// The app suspends the store, or resumes it.
  func ask(_ isAsked: Bool) {
    state.withLock { state in
      state.words += 1
      (state.isAsked, state.visits) = (isAsked, 0)
    }
  }

  /// Begins a visit; nil when the app has not suspended the store, which then needs none. Gives the number to end it with.
  func visit() -> Int? {
    state.withLock { state in
      if !state.isAsked { return nil }
      state.visits += 1
      return state.words
    }
  }

  /// Ends a visit.
  ///
  /// - Returns: whether it was the last one, so that the file is to be let go of.
  func leave(_ visit: Int) -> Bool {
    state.withLock { state in
      // The app has suspended or resumed the store since.
      if state.words != visit { return false }
      state.visits -= 1
      return state.visits == 0
    }
  }

  /// Runs `body`, which opens or closes the file, when nobody else does.
  func inTurn<T>(_ body: () async throws -> T) async rethrows -> T {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.isBusy { state.successors.append(continuation) }
        defer { state.isBusy = true }
        return !state.isBusy
      }
      if isFree { continuation.resume() }
    }
    defer {
      let next = state.withLock { state in
        state.isBusy = !state.successors.isEmpty
        return state.successors.isEmpty ? nil : state.successors.removeFirst()
      }
      next?.resume()
    }
    return try await body()
  }

  func begin() { state.withLock { $0.isOn = true } }

  func end() {
    let waiters = state.withLock { state in
      defer { (state.isOn, state.waiters) = (false, []) }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if state.isOn { state.waiters.append(continuation) }
        return !state.isOn
      }
      if isOver { continuation.resume() }
    }
  }
}
