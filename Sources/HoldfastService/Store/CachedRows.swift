import HoldfastCore

/// The rows of devices and zones in a `ReadCache`, the answers made from them, and what a commit changes of them.
package struct CachedRows {
  /// The maximum number of rows, about 300 bytes each. Beyond it, all are dropped.
  package static let limit = 100_000

  /// How many zones of a device are looked through for one. Of more it is noted where each one is.
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
    /// Where each zone is in `zones`, once one of many was looked for.
    var places: TextMap<Int> = [:]
    var hasNoRefusals = false

    init(user: String) { self.user = user }

    func place(of zone: String) -> Int? {
      guard let zones else { return nil }
      if zones.count <= fewZones { return zones.firstIndex { $0.zone == zone } }
      if places.isEmpty { places = TextMap(zones.enumerated().map { ($1.zone, $0) }) }
      return places[zone]
    }
  }

  private struct User {
    var devices: Set<Int64> = []
    var zones: TextMap<ZoneProgress> = [:]
    var visible: VisibleZones?
  }

  private var history: History?
  private var count = 0
  private var tokens: [TokenHash: Int64] = [:]
  private var devices: [Int64: Device] = [:]
  private var users: TextMap<User> = [:]
  /// Who has to hear of it when a zone moves.
  private var readers: TextMap<Set<Reader>> = [:]
  /// The parts of zones, on a database where one may change behind the zone's seq.
  package let parts = PartCache()

  private let limit: Int

  init(limit: Int) { self.limit = limit }

  var isFull: Bool { count > limit }

  /// Lets go of everything.
  ///
  /// - Returns: what was known.
  mutating func takeAll() -> CachedRows {
    defer { self = CachedRows(limit: limit) }
    return self
  }

  // MARK: What a commit changes

  mutating func apply(_ delta: Delta) {
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

  private mutating func drop(zone: String) {
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

  private mutating func move(_ zone: MovedZone) {
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
      zone = ZoneProgress(
        zone: zone.zone, ack: ack, isStored: true, seq: zone.seq, purged: zone.purged, role: zone.role,
        wasLost: zone.isStored ? zone.wasLost && !ack.epoch.isEmpty : new.isDoubted)
    }
  }

  private func changeZone(_ zone: String, of number: Int64, _ body: (inout ZoneProgress) -> Void) {
    guard let device = devices[number] else { return }
    device.answer = nil
    guard let place = device.place(of: zone), var zones = device.zones else { return device.zones = nil }
    // Referred to twice, the array would be copied.
    device.zones = nil
    body(&zones[place])
    device.zones = zones
  }

  private func move(_ device: MovedDevice) {
    guard let known = devices[device.number], let row = known.row else { return }
    known.answer = nil
    known.row = row.moved(device)
  }

  private mutating func drop(user: String) {
    guard let known = users.removeValue(forKey: user) else { return }
    for number in known.devices { drop(device: number) }
  }

  private mutating func drop(device number: Int64) {
    guard let known = devices.removeValue(forKey: number) else { return }
    if let token = known.row?.key.token { tokens[token] = nil }
    users[known.user]?.devices.remove(number)
  }

  private func dropZones(of number: Int64) {
    devices[number]?.zones = nil
    devices[number]?.answer = nil
  }

  // MARK: What is known

  package func device(_ token: TokenHash) -> (device: KnownDevice, history: History)? {
    guard let history, let row = tokens[token].flatMap({ devices[$0]?.row }) else { return nil }
    return (row, history)
  }

  package func answer(to request: QuietRequest, of device: Int64) -> [UInt8]? {
    guard let known = devices[device]?.answer, known.request == request else { return nil }
    return known.bytes
  }

  package func hasAnswer(_ device: Int64) -> Bool { devices[device]?.answer != nil }

  package func zones(of device: Int64) -> [ZoneProgress]? { devices[device]?.zones }

  package func hasNoRefusals(_ device: Int64) -> Bool { devices[device]?.hasNoRefusals ?? false }

  package func zone(_ zone: String, for user: String) -> ZoneProgress? { users[user]?.zones[zone] }

  package func visibleZones(of user: String) -> VisibleZones? { users[user]?.visible }

  // MARK: What was read

  package mutating func keep(_ row: KnownDevice, _ history: History) {
    self.history = history
    tokens[row.key.token] = row.key.number
    change(row.key) { $0.row = row }
  }

  package mutating func keep(_ answer: [UInt8], to request: QuietRequest, of key: DeviceKey) {
    // What it says of zones is dropped by them.
    guard devices[key.number]?.zones != nil else { return }
    count += answer.count / 300
    change(key) { $0.answer = (request, answer) }
  }

  package mutating func keep(_ zones: [ZoneProgress], of key: DeviceKey) {
    count += zones.count
    change(key) { ($0.zones, $0.places) = (zones, [:]) }
    for zone in zones { note(.device(key.number), zone.zone) }
  }

  package mutating func keepNoRefusals(of device: Int64) { devices[device]?.hasNoRefusals = true }

  package mutating func keep(_ zone: ZoneProgress, for user: String) {
    count += 1
    users[user, default: User()].zones[zone.zone] = zone
    note(.user(user), zone.zone)
  }

  package mutating func keep(_ visible: VisibleZones, of user: String) {
    count += visible.zones.count
    users[user, default: User()].visible = visible
    for zone in visible.zones { note(.user(user), zone.zone) }
  }

  private mutating func change(_ key: DeviceKey, _ body: (Device) -> Void) {
    count += 1
    if let known = devices[key.number] { return body(known) }
    users[key.user, default: User()].devices.insert(key.number)
    let device = Device(user: key.user)
    devices[key.number] = device
    body(device)
  }

  private mutating func note(_ reader: Reader, _ zone: String) {
    if readers[zone, default: []].insert(reader).inserted { count += 1 }
  }
}
