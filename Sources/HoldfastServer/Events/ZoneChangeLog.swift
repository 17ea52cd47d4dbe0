import HoldfastCore
import HoldfastService

/// The last change of each zone, user and device, by a counter of commits. It tells a device that reconnects which zones it missed.
/// Bounded: at the limit the older half is purged.
struct ZoneChangeLog {
  enum Key: Hashable {
    case zone(String)
    case user(String)
    case device(Int64)
  }

  /// The number of commits noted.
  private(set) var counter: UInt64 = 0
  /// The log is complete for changes after this counter value.
  private(set) var floor: UInt64 = 0
  private var last: [Key: UInt64] = [:]
  private let limit: Int

  /// - Parameter limit: the maximum number of keys.
  init(limit: Int = 65_536) { self.limit = limit }

  /// Records a commit.
  mutating func note(_ changes: ZoneChanges) {
    counter += 1
    for zone in changes.zones.keys { last[.zone(zone)] = counter }
    for user in changes.users { last[.user(user)] = counter }
    for device in changes.devices { last[.device(device)] = counter }
    if last.count > limit { purge() }
  }

  /// Whether `key` changed after `moment`, which must be at least `floor`.
  func hasMoved(_ key: Key, since moment: UInt64) -> Bool { last[key].map { $0 > moment } ?? false }

  /// Clears the log, because changes may have been missed.
  mutating func purgeAll() {
    counter += 1
    floor = counter
    last = [:]
  }

  private mutating func purge() {
    floor = last.values.sorted()[last.count / 2]
    last = last.filter { $0.value > floor }
  }
}
