import HoldfastConcurrency
import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// What the server has read of devices and zones, for all its threads: a device that comes again and finds nothing new is answered without the database.
///
/// All of it is true in one state of the database, `state`. Whoever asks says in which state the database is, by `CommitState`, which another process
/// changes as well: in any other state nothing is found. The writer, which alone commits for this server, goes on from state to state: it changes or
/// drops what its commit has changed, and drops everything where it can't tell what that was: after a commit of somebody else, and after one that wrote
/// more than its delta.
///
/// @unchecked Sendable: all variables are touched under the lock alone.
final class ReadCache: @unchecked Sendable {
  /// The maximum number of cached rows, about 300 bytes each. Beyond it, the whole cache is dropped.
  static let limit = 100_000

  /// How many zones of a device are looked through for one.
  private static let fewZones = 64

  /// Who was told something of a zone.
  private enum Reader: Hashable {
    case device(Int64)
    case user(String)
  }

  private final class Device {
    let user: String
    var row: KnownDevice?
    var answer: (request: QuietRequest, bytes: [UInt8])?
    var zones: [ZoneProgress]?
    var hasNoRefusals = false

    init(user: String) { self.user = user }
  }

  private struct User {
    var devices: Set<Int64> = []
    var zones: TextMap<ZoneProgress> = [:]
    var visible: VisibleZones?
  }

  private let lock = Lock()
  /// The state in which all of it is true; nil for none.
  private var state: CommitState?
  /// Whether the writer is in a transaction: a state that a reader sees may be that of its commit, with which the cache goes on by itself.
  private var isWriting = false
  private var history: History?
  private var count = 0
  private var tokens: [TokenHash: Int64] = [:]
  private var devices: [Int64: Device] = [:]
  private var users: TextMap<User> = [:]
  /// Who has to hear of it when a zone moves.
  private var readers: TextMap<Set<Reader>> = [:]
  private let parts = PartCache()

  // MARK: States

  /// Begins with nothing in the state that a reader sees, where the cache has another one.
  ///
  /// - Parameter isCurrent: whether the database is still in that state.
  func begin(at seen: CommitState, isCurrent: () -> Bool) {
    lock.hold { if state != seen, !isWriting, isCurrent() { removeAll(at: seen) } }
  }

  /// The writer has the lock of the database, in a state.
  func enter(_ seen: CommitState?) {
    lock.hold {
      isWriting = true
      if seen == nil || state != seen { removeAll(at: seen) }
    }
  }

  /// The writer has rolled back, or does not know whether it has committed.
  func leave() { lock.hold { isWriting = false } }

  /// The writer has committed.
  ///
  /// - Parameters:
  ///   - before: the state in which it began.
  ///   - after: the state in which the database is now.
  ///   - delta: all that it wrote; nil where it wrote more.
  func advance(from before: CommitState?, to after: CommitState?, _ delta: Delta?) {
    lock.hold {
      isWriting = false
      guard let before, let after, let delta, state == before, after.follows(before), count <= Self.limit
      else {
        // Of the state of now nothing is known, and a reader may begin in it.
        return removeAll(at: nil)
      }
      state = after
      for zone in delta.newZones { drop(zone: zone) }
      for zone in delta.movedZones { move(zone) }
      for (member, _) in delta.roles { drop(user: member.user) }
      for (member, _) in delta.left { drop(user: member.user) }
      for loss in delta.losses { drop(user: loss.user) }
      for number in delta.clearedAcks { dropZones(of: number) }
      for ack in delta.acks { take(ack) }
      for refusal in delta.refusals { drop(device: refusal.device) }
      for (number, _) in delta.purgedRefusals { drop(device: number) }
      for device in delta.movedDevices { move(device) }
    }
  }

  private func removeAll(at state: CommitState?) {
    self.state = state
    (history, count) = (nil, 0)
    tokens.removeAll(keepingCapacity: true)
    devices.removeAll(keepingCapacity: true)
    users.removeAll(keepingCapacity: true)
    readers.removeAll(keepingCapacity: true)
    parts.removeAll()
  }

  private func drop(zone: String) {
    for reader in readers.removeValue(forKey: zone) ?? [] {
      count -= 1
      switch reader {
      case .device(let number): dropZones(of: number)
      case .user(let user):
        users[user]?.visible = nil
        users[user]?.zones[zone] = nil
      }
    }
  }

  private func move(_ zone: MovedZone) {
    for reader in readers[zone.zone] ?? [] {
      switch reader {
      case .device(let number): changeZone(zone.zone, of: number) { $0.seq = zone.seq }
      case .user(let user):
        users[user]?.visible = nil
        users[user]?.zones[zone.zone]?.seq = zone.seq
      }
    }
  }

  private func take(_ new: NewAck) {
    guard let ack = new.ack else { return dropZones(of: new.key.device) }
    changeZone(new.key.zone, of: new.key.device) { zone in
      // Of one that has none yet more changes than the ack.
      guard zone.isStored else { return false }
      zone = ZoneProgress(
        zone: zone.zone, ack: ack, isStored: true, seq: zone.seq, purged: zone.purged, role: zone.role,
        wasLost: zone.wasLost && !ack.epoch.isEmpty)
      return true
    }
  }

  private func changeZone(_ zone: String, of number: Int64, _ body: (inout ZoneProgress) -> Void) {
    changeZone(zone, of: number) { (zone: inout ZoneProgress) -> Bool in
      body(&zone)
      return true
    }
  }

  /// Changes what a device has of a zone, or drops its zones: also where it has so many that to look for one takes long.
  private func changeZone(_ zone: String, of number: Int64, _ body: (inout ZoneProgress) -> Bool) {
    guard let device = devices[number] else { return }
    device.answer = nil
    let index = device.zones.flatMap { zones in
      zones.count <= Self.fewZones ? zones.firstIndex { $0.zone == zone } : nil
    }
    guard let index, var changed = device.zones?[index], body(&changed) else { return device.zones = nil }
    device.zones?[index] = changed
  }

  private func move(_ device: MovedDevice) {
    guard let known = devices[device.number], let row = known.row else { return }
    known.answer = nil
    known.row = row.moved(device)
  }

  private func drop(user: String) {
    guard let known = users.removeValue(forKey: user) else { return }
    for number in known.devices { drop(device: number) }
  }

  private func drop(device number: Int64) {
    guard let known = devices.removeValue(forKey: number) else { return }
    if let token = known.row?.key.token { tokens[token] = nil }
    users[known.user]?.devices.remove(number)
  }

  private func dropZones(of number: Int64) {
    devices[number]?.zones = nil
    devices[number]?.answer = nil
  }

  // MARK: What is known

  func device(_ token: TokenHash, at seen: CommitState) -> (device: KnownDevice, history: History)? {
    find(at: seen) {
      guard let history, let row = tokens[token].flatMap({ devices[$0]?.row }) else { return nil }
      return (row, history)
    }
  }

  func answer(to request: QuietRequest, of device: Int64, at seen: CommitState) -> [UInt8]? {
    find(at: seen) {
      guard let known = devices[device]?.answer, known.request == request else { return nil }
      return known.bytes
    }
  }

  func zones(of device: Int64, at seen: CommitState) -> [ZoneProgress]? {
    find(at: seen) { devices[device]?.zones }
  }

  func hasNoRefusals(_ device: Int64, at seen: CommitState) -> Bool {
    find(at: seen) { devices[device]?.hasNoRefusals } ?? false
  }

  func zone(_ zone: String, for user: String, at seen: CommitState) -> ZoneProgress? {
    find(at: seen) { users[user]?.zones[zone] }
  }

  func visibleZones(of user: String, at seen: CommitState) -> VisibleZones? {
    find(at: seen) { users[user]?.visible }
  }

  func part(of zone: ZoneProgress, _ count: Int64, _ epoch: String, at seen: CommitState) -> PartCache.Part? {
    find(at: seen) { parts[zone, count, epoch] }
  }

  private func find<Found>(at seen: CommitState, _ body: () -> Found?) -> Found? {
    lock.hold { state == seen ? body() : nil }
  }

  // MARK: What was read

  func keep(_ row: KnownDevice, _ history: History, at seen: CommitState) {
    keep(at: seen) {
      self.history = history
      tokens[row.key.token] = row.key.number
      change(row.key) { $0.row = row }
    }
  }

  func keep(_ answer: [UInt8], to request: QuietRequest, of key: DeviceKey, at seen: CommitState) {
    keep(at: seen) {
      // What it says of zones is dropped by them.
      guard devices[key.number]?.zones != nil else { return }
      count += answer.count / 300
      change(key) { $0.answer = (request, answer) }
    }
  }

  func keep(_ zones: [ZoneProgress], of key: DeviceKey, at seen: CommitState) {
    keep(at: seen) {
      count += zones.count
      change(key) { $0.zones = zones }
      for zone in zones { note(.device(key.number), zone.zone) }
    }
  }

  func keepNoRefusals(of device: Int64, at seen: CommitState) {
    keep(at: seen) { devices[device]?.hasNoRefusals = true }
  }

  func keep(_ zone: ZoneProgress, for user: String, at seen: CommitState) {
    keep(at: seen) {
      users[user, default: User()].zones[zone.zone] = zone
      note(.user(user), zone.zone)
    }
  }

  func keep(_ visible: VisibleZones, of user: String, at seen: CommitState) {
    keep(at: seen) {
      count += visible.zones.count
      users[user, default: User()].visible = visible
      for zone in visible.zones { note(.user(user), zone.zone) }
    }
  }

  func wantsPart(_ size: Int, of zone: ZoneProgress, _ count: Int64, _ epoch: String) -> Bool {
    parts.wants(size, of: zone, count, epoch)
  }

  func keep(
    _ part: [UInt8], _ written: WrittenChanges, of zone: ZoneProgress, _ count: Int64, _ epoch: String,
    at seen: CommitState
  ) {
    lock.hold { if state == seen { parts.put(part, written, of: zone, count, epoch) } }
  }

  private func keep(at seen: CommitState, _ put: () -> Void) {
    lock.hold {
      guard state == seen else { return }
      if count > Self.limit { removeAll(at: seen) }
      count += 1
      put()
    }
  }

  private func change(_ key: DeviceKey, _ body: (Device) -> Void) {
    if let known = devices[key.number] { return body(known) }
    users[key.user, default: User()].devices.insert(key.number)
    let device = Device(user: key.user)
    devices[key.number] = device
    body(device)
  }

  private func note(_ reader: Reader, _ zone: String) {
    if readers[zone, default: []].insert(reader).inserted { count += 1 }
  }
}
