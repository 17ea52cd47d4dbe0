import HoldfastCore
import HoldfastSQLite
import HoldfastSystem

/// Tells who listens what a commit changed.
final class ChangeHub: Sendable {
  private struct Listener {
    var tables: TextSet?
    let tell: @Sendable (SQLiteChanges?) -> Void
  }
  private struct State {
    var next = 0
    var listeners: [Int: Listener] = [:]
  }
  private let state = Locked(State())

  /// Announces a commit; nil stands for any table, as when another process wrote.
  func announce(_ changes: SQLiteChanges?) {
    let listeners = state.withLock { Array($0.listeners.values) }
    if listeners.isEmpty { return }
    let tables = changes?.tables
    for listener in listeners {
      if let wanted = listener.tables, let tables, wanted.isDisjoint(with: tables) { continue }
      listener.tell(changes)
    }
  }

  /// Listens for commits on some tables, nil for all. Gives the number to stop with.
  func listen(tables: TextSet?, _ tell: @escaping @Sendable (SQLiteChanges?) -> Void) -> Int {
    state.withLock { state in
      state.next += 1
      state.listeners[state.next] = Listener(tables: tables, tell: tell)
      return state.next
    }
  }

  /// From now on a listener hears of these tables alone.
  func narrow(_ number: Int, to tables: TextSet) {
    state.withLock { $0.listeners[number]?.tables = tables }
  }

  func stop(_ number: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
}
