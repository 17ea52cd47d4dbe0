import HoldfastConcurrency
package import HoldfastCore

/// The service's hybrid logical clock: never behind a stamp that was written. Writers move it, all read it.
package final class ServiceClock: Sendable {
  private let value: Locked<Int64>
  /// By which ages are judged.
  package let trusted: TrustedClock

  package init(_ start: Stamp, _ trusted: TrustedClock) {
    value = Locked(start.rawValue)
    self.trusted = trusted
  }

  /// That of a database, behind all that is in it.
  package convenience init(of store: any StoreWriter, _ environment: ServerEnvironment) throws {
    let last = try store.latestClock()
    let stored = try store.purging.time()
    let trusted = TrustedClock(stored: stored, last: last.milliseconds, environment)
    if stored == nil {
      // What devices write from now on by a clock that is wrong must not stand in for it at the next start.
      do {
        _ = try store.begin([])
        // Another node may have done it.
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

  /// The clock as it stands, or the wall clock when that is later.
  package func now(milliseconds: Int64) -> Stamp {
    max(Stamp(rawValue: value.withLock { $0 }), Stamp(milliseconds: milliseconds))
  }

  /// ZoneChanges on and gives the new time, which is later than any before and than `seen`.
  package func advance(milliseconds: Int64, past seen: Stamp) -> Stamp {
    value.withLock { last in
      let next = max(Stamp(rawValue: last), seen).next(milliseconds: milliseconds)
      last = next.rawValue
      return next
    }
  }
}
