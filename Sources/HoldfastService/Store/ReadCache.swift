import HoldfastConcurrency
import HoldfastCore

/// What the commits so far have led to. In two equal states the database has the same rows.
package protocol DatabaseState: Equatable, Sendable {
  /// Whether the one commit that began in a state has led to this one, and no other commit.
  func follows(_ before: Self) -> Bool
}

/// What the server has read of devices and zones, for all its threads: a device that comes again and finds nothing new is answered without reading it
/// again. docs/SERVER.md.
///
/// All of it is true in one state of the database. Whoever asks says in which state the database is, which others change as well: in any other state
/// nothing is found. The writer goes on from state to state: it changes or drops what its commit has changed, and drops everything where it can't tell
/// what that was: after a commit of somebody else, and after one that wrote more than its delta. What is dropped is freed behind the lock, as that
/// may take long.
///
/// @unchecked Sendable: all variables are touched under the lock alone.
package final class ReadCache<State: DatabaseState>: @unchecked Sendable {
  private let lock = Lock()
  /// The state in which all of it is true; nil for none.
  private var state: State?
  /// Whether nobody else has written between the last two looks at the database.
  private var isQuiet = false
  /// Whether the writer is in a transaction: a state that a reader sees may be that of its commit, with which the cache goes on by itself.
  private var isWriting = false
  private var rows: CachedRows

  package init(limit: Int = CachedRows.limit) { rows = CachedRows(limit: limit) }

  /// The state in which all of it is true; nil while others write, too: it is then hardly that of the database.
  package var quietState: State? { lock.hold { isQuiet ? state : nil } }

  /// Begins with nothing in the state that a reader sees, where the cache has another one.
  ///
  /// - Parameter isCurrent: whether the database may still be in that state, and the cache is in an older one.
  package func begin(at seen: State, isCurrent: (State?) -> Bool) {
    _ = lock.hold { () -> CachedRows? in
      if state == seen { isQuiet = true } else if !isWriting, isCurrent(state) { return takeAll(at: seen) }
      return nil
    }
  }

  /// The writer begins a transaction in a state.
  package func enter(_ seen: State?) {
    _ = lock.hold {
      isWriting = true
      return seen == nil || state != seen ? takeAll(at: seen) : nil
    }
  }

  /// The writer has rolled back, or does not know whether it has committed.
  package func leave() { lock.hold { isWriting = false } }

  /// The writer has committed.
  ///
  /// - Parameters:
  ///   - before: the state in which it began.
  ///   - after: the state in which the database is now.
  ///   - delta: all that it wrote; nil where it wrote more.
  package func advance(from before: State?, to after: State?, _ delta: Delta?) {
    _ = lock.hold { () -> CachedRows? in
      isWriting = false
      guard let before, let after, let delta, state == before, after.follows(before), !rows.isFull
      else {
        // Of the state of now nothing is known, and a reader may begin in it.
        return takeAll(at: nil)
      }
      (state, isQuiet) = (after, true)
      rows.apply(delta)
      return nil
    }
  }

  /// Begins with nothing in a state.
  ///
  /// - Returns: what was known before.
  private func takeAll(at state: State?) -> CachedRows {
    (self.state, isQuiet) = (state, false)
    return rows.takeAll()
  }

  /// Finds something that is true in a state.
  package func find<Found>(at seen: State, _ body: (CachedRows) -> Found?) -> Found? {
    lock.hold { state == seen ? body(rows) : nil }
  }

  /// Keeps something that was read in a state.
  package func keep(at seen: State, _ body: (inout CachedRows) -> Void) {
    _ = lock.hold { () -> CachedRows? in
      guard state == seen else { return nil }
      let dropped = rows.isFull ? rows.takeAll() : nil
      body(&rows)
      return dropped
    }
  }
}
