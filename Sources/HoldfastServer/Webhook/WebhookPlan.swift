import HoldfastCore
import HoldfastService

/// Decides which zones a team's program is notified of, and when. Pure; docs/PUSH.md has the table.
///
/// A zone is in one call at a time, and the seq sent for it never decreases. So the program receives each zone's changes in order.
struct WebhookPlan {
  private struct Waiting {
    var failures = 0
    /// In milliseconds of the caller's clock.
    var notBefore: Int64 = 0
    /// Whether the zone is sent in a call of its own, because a call with it was refused.
    var isAlone = false
    /// The device that wrote all changes that no call contains yet; 0 for several devices, or if unknown. Nil without such changes.
    var author: Int64?

    /// Adds a change by a device.
    mutating func add(_ other: Int64) { author = author.map { $0 == other ? other : 0 } ?? other }
  }

  /// The maximum number of zones in memory. Beyond it, the database is scanned.
  static let limit = 100_000
  /// The maximum number of zones that a step of a scan finds.
  static let scanSize = 10_000
  /// The first and the longest wait after a failure, in milliseconds.
  static let backOff: (first: Int64, longest: Int64) = (1000, 300_000)

  private var waiting: TextMap<Waiting> = [:]
  /// The zones of the current call, with their authors.
  private var sent: TextMap<Int64> = [:]
  /// Whether the last call was of a zone of its own. The next one is of the others, if any are due: those that are refused do not hold them up.
  private var wasAlone = false
  private var failures = 0
  private var notBefore: Int64 = 0
  /// Behind which zone the database must be scanned for zones with undelivered changes; nil for nowhere.
  private var place: String? = ""
  /// Whether it must be scanned once more, as changes may have been missed before the place.
  private var mustRepeat = false

  /// Adds changed zones, each with the device that wrote it; 0 or nil for several devices, or if unknown.
  mutating func add(_ zones: some Sequence<(key: String, value: Int64?)>) {
    for (zone, author) in zones {
      if waiting[zone] == nil, waiting.count >= Self.limit {
        return scanAgain()
      }
      waiting[zone, default: Waiting()].add(author ?? 0)
    }
  }

  /// Begins a call with zones.
  ///
  /// - Returns: the author of each zone; 0 for several devices, or if unknown.
  mutating func begin(_ zones: [String]) -> TextMap<Int64> {
    sent = [:]
    wasAlone = zones.count == 1 && zones.allSatisfy { waiting[$0]?.isAlone == true }
    for zone in zones {
      sent[zone] = waiting[zone]?.author ?? 0
      waiting[zone]?.author = nil
    }
    return sent
  }

  /// Adds the changes of a failed call to those since.
  private mutating func restore() {
    for (zone, author) in sent { waiting[zone]?.add(author) }
    sent = [:]
  }

  /// Behind which zone the next step of a scan begins; nil for none now. It goes on while refused zones wait, if there is room for what it finds.
  func scanPlace(now: Int64) -> String? { now >= notBefore && hasRoom ? place : nil }

  private var hasRoom: Bool { waiting.count <= Self.limit - Self.scanSize }

  /// Adds the zones that a step of a scan has found behind its place.
  mutating func scanned(_ zones: [String]) {
    add(zones.lazy.map { ($0, nil) })
    if zones.count == Self.scanSize {
      place = zones.last
    } else {
      (place, mustRepeat) = (mustRepeat ? "" : nil, false)
    }
  }

  /// Requests a scan, because changes may have been missed.
  mutating func scanAgain() { if place == nil { place = "" } else { mustRepeat = place != "" } }

  /// The zones of the next call; empty if none are due.
  func next(_ limit: Int, now: Int64) -> [String] {
    if now < notBefore { return [] }
    let due = waiting.filter { $0.value.notBefore <= now }
    let others = due.filter { !$0.value.isAlone }.keys.sorted().prefix(limit)
    // Of the refused ones the one that has been due for longest is next.
    let alone = due.filter(\.value.isAlone).min {
      ($0.value.notBefore, $0.key) < ($1.value.notBefore, $1.key)
    }
    if let alone, others.isEmpty || !wasAlone { return [alone.key] }
    return Array(others)
  }

  /// The time when `next` may return zones, or the database must be scanned. Nil if only new changes can cause either.
  func nextTime(now: Int64) -> Int64? {
    let first = place != nil && hasRoom ? notBefore : waiting.values.map(\.notBefore).min()
    return first.map { max($0, notBefore) }
  }

  /// Records that zones were delivered, or do not exist. A zone that changed since the call began stays: only its next call names the
  /// device that this one left out.
  mutating func succeeded(_ zones: [String]) {
    for zone in zones {
      waiting[zone] = waiting[zone]?.author.map { Waiting(author: $0) }
    }
    sent = [:]
    (failures, notBefore) = (0, 0)
  }

  /// Postpones all calls: the program is unreachable, or asks to wait.
  ///
  /// - Parameters:
  ///   - retryAfter: the program's Retry-After, in milliseconds.
  ///   - random: adds jitter to the wait.
  mutating func postponed(now: Int64, retryAfter: Int64, random: UInt64) {
    restore()
    failures += 1
    notBefore = now + max(Self.wait(failures, random), retryAfter)
  }

  /// Records that the program refused a call. Its zones are then sent one by one; a zone refused in a call of its own waits separately.
  mutating func refused(_ zones: [String], now: Int64, random: UInt64) {
    restore()
    for zone in zones {
      waiting[zone]?.isAlone = true
      guard zones.count == 1, var state = waiting[zone] else { continue }
      state.failures += 1
      state.notBefore = now + Self.wait(state.failures, random)
      waiting[zone] = state
    }
  }

  /// The wait after a failure. It doubles from the first to the longest; half of it is random.
  private static func wait(_ failures: Int, _ random: UInt64) -> Int64 {
    let bound = min(backOff.longest, backOff.first << Int64(min(failures - 1, 16)))
    return bound / 2 + Int64(random % UInt64(bound / 2 + 1))
  }
}
