package import HoldfastCore
import HoldfastSystem

/// The service's hybrid logical clock. It never falls behind a stamp that was written. Writers advance it; all threads read it.
package final class ServiceClock: Sendable {
  private let value: Locked<Int64>
  /// The clock for ages of data.
  package let trusted: TrustedClock

  package init(_ start: Stamp, _ trusted: TrustedClock) {
    value = Locked(start.rawValue)
    self.trusted = trusted
  }

  /// The clock of a database. It starts after every stamp in the database.
  package convenience init(of store: any StoreWriter, _ environment: ServerEnvironment) throws {
    let last = try store.latestClock()
    let stored = try store.purging.time()
    let trusted = TrustedClock(stored: stored, last: last.milliseconds, environment)
    if stored == nil {
      // Stores the trusted time now. Otherwise timestamps that devices write by a wrong clock would replace it at the next start.
      do {
        _ = try store.begin([])
        // Another node may have stored it.
        if try store.purging.lockTime() == nil {
          try store.purging.setTime(TrustedTime(time: trusted.now()))
        }
        try store.commit(Delta(newZones: [], records: []), announcing: ZoneChanges())
      } catch {
        store.rollBack()
        throw error
      }
    }
    self.init(last, trusted)
  }

  /// The current value, or the wall clock if that is later.
  package func now(milliseconds: Int64) -> Stamp {
    max(Stamp(rawValue: value.withLock { $0 }), Stamp(milliseconds: milliseconds))
  }

  /// Advances the clock, and returns the new time. It is later than every earlier time, and than `seen`.
  package func advance(milliseconds: Int64, past seen: Stamp) -> Stamp {
    value.withLock { last in
      let next = max(Stamp(rawValue: last), seen).next(milliseconds: milliseconds)
      last = next.rawValue
      return next
    }
  }
}
