import HoldfastCore
import HoldfastService

/// When each zone, user and device moved last, by a counter that every commit advances: enough to tell a device that
/// returns what it has missed. Bounded: of too many the older half is purged.
struct ZoneChangeLog {
  enum Key: Hashable {
    case zone(String)
    case user(String)
    case device(Int64)
  }

  /// How many commits were noted.
  private(set) var counter: UInt64 = 0
  /// What moved later than this is remembered, all of it.
  private(set) var floor: UInt64 = 0
  private var last: [Key: UInt64] = [:]
  private let limit: Int

  /// - Parameter limit: how many keys are remembered at the most.
  init(limit: Int = 65_536) { self.limit = limit }

  /// Notes a commit.
  mutating func note(_ changes: ZoneChanges) {
    counter += 1
    for zone in changes.zones.keys { last[.zone(zone)] = counter }
    for user in changes.users { last[.user(user)] = counter }
    for device in changes.devices { last[.device(device)] = counter }
    if last.count > limit { purge() }
  }

  /// Whether something moved after `moment`, which must not be before `floor`.
  func hasMoved(_ key: Key, since moment: UInt64) -> Bool { last[key].map { $0 > moment } ?? false }

  /// Something moved that was not noted: nothing is known of what was before now.
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
