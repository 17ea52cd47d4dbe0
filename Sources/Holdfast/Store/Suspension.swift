import HoldfastSystem

/// Whether a store is suspended, and who waits for its end.
final class Suspension: Sendable {
  private struct State {
    var isOn = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Locked(State())

  deinit { end() }

  var isOn: Bool { state.withLock { $0.isOn } }

  func begin() { state.withLock { $0.isOn = true } }

  func end() {
    let waiters = state.withLock { state in
      defer { state = State() }
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
