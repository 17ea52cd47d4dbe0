import HoldfastCore
import Synchronization

/// The service's hybrid logical clock: never behind a stamp that was written. The writer moves it, all read it.
final class ServiceClock: Sendable {
  private let value: Atomic<Int64>

  init(_ start: Stamp) { value = Atomic(start.rawValue) }

  /// The clock as it stands, or the wall clock when that is later.
  func now(milliseconds: Int64) -> Stamp {
    max(Stamp(rawValue: value.load(ordering: .acquiring)), Stamp(milliseconds: milliseconds))
  }

  /// Moves on and gives the new time; one thread calls it.
  func advance(milliseconds: Int64) -> Stamp {
    let next = Stamp(rawValue: value.load(ordering: .acquiring)).next(milliseconds: milliseconds)
    value.store(next.rawValue, ordering: .releasing)
    return next
  }
}
