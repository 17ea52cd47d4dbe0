import HoldfastCore
import Synchronization

/// Tells who listens which tables a commit changed.
final class ChangeHub: Sendable {
  private struct Listener {
    let tables: TextSet?
    let tell: @Sendable () -> Void
  }
  private struct State {
    var next = 0
    var listeners: [Int: Listener] = [:]
  }
  private let state = Mutex(State())

  /// Announces a commit; nil stands for any table, as when another process wrote.
  func announce(_ tables: TextSet?) {
    let listeners = state.withLock { state in
      state.listeners.values.filter { listener in
        guard let wanted = listener.tables, let tables else { return true }
        return !wanted.isDisjoint(with: tables)
      }
    }
    for listener in listeners { listener.tell() }
  }

  /// Listens for commits on some tables, nil for all. Gives the number to stop with.
  func listen(tables: TextSet?, _ tell: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.listeners[state.next] = Listener(tables: tables, tell: tell)
      return state.next
    }
  }

  func stop(_ number: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
}
