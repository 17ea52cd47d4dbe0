import HoldfastConcurrency
import HoldfastCore
import HoldfastService

/// What the fast lane knows of the database without asking: what its last transactions have read and written. docs/POSTGRES.md, section 2.
///
/// It holds while nobody else writes. Then the next transaction has the next number, and in its snapshot all before it have ended
/// (`PostgresStatements.findAlone`). A team's trigger writes under the number of the transaction that it runs in, so nothing is kept where
/// there is one (`PostgresStatements.findTriggers`). No trigger appears or goes without a number of its own.
struct LaneMemory {
  /// What the definitions of the tables say.
  struct Traits {
    /// Whether a trigger of a team may run in a transaction of the lane.
    let hasTriggers: Bool
    /// The tables that keep each value as it is written.
    let verbatim: Set<Int>
  }

  /// The maximum number of devices, of zones and of roles. Above it, all are removed.
  private static let limit = 20_000
  /// The same of records, and the size in bytes up to which they are kept.
  private static let recordLimit = 2000
  private static let recordSize: Int64 = 4096

  /// The number of the next transaction if nobody else writes; nil if nothing is known.
  private(set) var next: Int64?
  /// Whether nobody else has written between the last two transactions. Where others write too, it costs more to rely on it than to ask.
  private var isQuiet = false
  /// What is known of the tables; nil if nobody has looked since another transaction.
  private var traits: Traits?
  /// When the connection was last used.
  private var usedAt = MonotonicTime(milliseconds: 0)
  private var devices: [Int64: DeviceRow] = [:]
  private var zones: TextMap<LockedZone> = [:]
  private var roles: [ZoneUser: Role?] = [:]
  private var records: [Footprint.Key: RecordEntry] = [:]

  /// Forgets everything.
  mutating func removeAll() { self = LaneMemory() }

  /// Notes that a transaction has begun that asks the database.
  ///
  /// - Parameters:
  ///   - transaction: its number.
  ///   - snapshot: the snapshot right before it got the number.
  mutating func begin(_ transaction: Int64, after snapshot: String) {
    guard snapshot == Self.snapshot(of: transaction) else { return removeAll() }
    let isNext = transaction == next
    if !isNext { removeAll() }
    (next, isQuiet) = (transaction, isNext)
  }

  /// The snapshot of a transaction, if all others have ended that have a number.
  static func snapshot(of transaction: Int64) -> String { "\(transaction):\(transaction):" }

  /// Whether it is time to look at the tables' definitions.
  var wantsTraits: Bool { isQuiet && traits == nil }

  /// Adds what the transaction has read of the tables' definitions.
  mutating func learn(_ traits: Traits) { if next != nil, isQuiet { self.traits = traits } }

  /// Whether nobody else's statements run in the transaction, and nobody else has written since the one before.
  var seesAll: Bool { isQuiet && traits?.hasTriggers == false }

  /// Whether the connection was used so recently that it certainly works.
  func isFresh(_ life: Duration) -> Bool { life > .zero && MonotonicTime.now < usedAt + life }

  /// Adds what the transaction has read.
  mutating func learn(_ fetched: Fetched) {
    guard next != nil, seesAll else { return }
    if max(devices.count, zones.count, roles.count) > Self.limit { (devices, zones, roles) = ([:], [:], [:]) }
    if records.count > Self.recordLimit { records = [:] }
    for case (let number, let row?) in fetched.devices { devices[number] = row }
    for (name, zone) in fetched.zones { if let zone { zones[name] = zone } }
    for (member, role) in fetched.roles { roles[member] = .some(role) }
    for (key, entry) in fetched.records where entry.places.live.map({ $0.size <= Self.recordSize }) ?? false {
      records[key] = entry
    }
  }

  /// What a transaction would read for some commands; nil if not all of it is known.
  func fetched(for footprints: [Footprint]) -> Fetched? {
    guard seesAll, !footprints.isEmpty else { return nil }
    var fetched = Fetched()
    var created: Set<Footprint.Key> = []
    created.reserveCapacity(footprints.reduce(0) { $0 + $1.created.count })
    for footprint in footprints where !add(footprint, to: &fetched, &created) { return nil }
    return fetched
  }

  /// Whether the tables keep the records of some commands as they are written.
  func areVerbatim(_ footprints: [Footprint]) -> Bool {
    guard let traits else { return false }
    return footprints.allSatisfy { footprint in
      [footprint.records, footprint.created, footprint.newRecords].allSatisfy { keys in
        keys.allSatisfy { traits.verbatim.contains($0.table) }
      }
    }
  }

  private func add(
    _ footprint: Footprint, to fetched: inout Fetched, _ created: inout Set<Footprint.Key>
  ) -> Bool {
    // The server's own commands, which have no device, read on demand.
    guard let number = footprint.device?.number, let row = devices[number], footprint.request == nil,
      footprint.shown.isEmpty
    else { return false }
    fetched.devices[number] = .some(row)
    for zone in footprint.zones where !add(zone: zone, footprint.user, to: &fetched) { return false }
    var there = footprint.records + footprint.parents
    for key in footprint.created {
      if records[key] != nil {
        there.append(key)
      } else if created.insert(key).inserted {
        fetched.absent.append(key)
      }
    }
    for key in there where !created.contains(key) {
      guard let entry = records[key] else { return false }
      fetched.records[key] = entry
      for place in entry.places where place.state != .departed {
        if !add(zone: place.zone, footprint.user, to: &fetched) { return false }
      }
    }
    return true
  }

  private func add(zone name: String, _ user: String?, to fetched: inout Fetched) -> Bool {
    guard let zone = zones[name] else { return false }
    fetched.zones[name] = .some(zone)
    guard let user else { return true }
    let member = ZoneUser(zone: name, user: user)
    guard let role = roles[member] else { return false }
    fetched.roles[member] = .some(role)
    return true
  }

  /// Notes that the transaction with the number `next` was committed.
  ///
  /// - Parameter delta: all that it has written.
  mutating func commit(_ delta: Delta) {
    guard let transaction = next else { return }
    (next, usedAt) = (transaction + 1, .now)
    for moved in delta.movedDevices { devices[moved.number]?.state = moved.state }
    let others = delta.purgedRefusals.map(\.device) + delta.refusals.map(\.device) + delta.clearedAcks
    for number in others { devices[number] = nil }
    for number in delta.acks.lazy.map(\.key.device) {
      // It may replace another one, so this is the most that there are.
      guard let count = devices[number]?.ackCount, count < SyncRequest.ackLimit else {
        devices[number] = nil
        continue
      }
      devices[number]?.ackCount = count + 1
    }
    for moved in delta.movedZones {
      guard let zone = zones[moved.zone] else { continue }
      let counts = ZoneCounts(records: max(0, moved.counts.records), bytes: max(0, moved.counts.bytes))
      zones[moved.zone] = LockedZone(
        seq: moved.seq, isPublic: zone.isPublic, counts: counts, leftFor: zone.leftFor)
    }
    for (member, role) in delta.roles where roles[member] != nil { roles[member] = .some(role) }
    // The database may store other values than those that were written.
    if !records.isEmpty { for change in delta.records { records[change.key] = nil } }
  }
}
