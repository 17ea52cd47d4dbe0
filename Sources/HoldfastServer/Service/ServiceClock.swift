import HoldfastCore
import Synchronization

/// The service's hybrid logical clock: never behind a stamp that was written. Writers move it, all read it.
final class ServiceClock: Sendable {
  private let value: Atomic<Int64>
  /// By which ages are judged.
  let trusted: TrustedClock

  init(_ start: Stamp, _ trusted: TrustedClock) {
    value = Atomic(start.rawValue)
    self.trusted = trusted
  }

  /// That of a database, behind all that is in it.
  convenience init(of store: any StoreWriter, _ environment: ServerEnvironment) throws {
    let last = try store.latestClock()
    self.init(
      last,
      TrustedClock(stored: try store.purging.time(), last: last.milliseconds, environment))
  }

  /// The clock as it stands, or the wall clock when that is later.
  func now(milliseconds: Int64) -> Stamp {
    max(Stamp(rawValue: value.load(ordering: .acquiring)), Stamp(milliseconds: milliseconds))
  }

  /// ZoneChanges on and gives the new time, which is later than any before and than `seen`.
  func advance(milliseconds: Int64, past seen: Stamp) -> Stamp {
    while true {
      let last = value.load(ordering: .acquiring)
      let next = max(Stamp(rawValue: last), seen).next(milliseconds: milliseconds)
      let (isMoved, _) = value.compareExchange(
        expected: last, desired: next.rawValue, ordering: .acquiringAndReleasing)
      if isMoved { return next }
    }
  }
}
