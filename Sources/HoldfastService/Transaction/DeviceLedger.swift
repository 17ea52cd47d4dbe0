import HoldfastCore

/// The devices of a transaction, with their acks and refusals. Changes are written at the end.
package final class DeviceLedger {
  private struct Device {
    var row: DeviceRow
    var isMoved = false
    /// Purge refusals up to this operation number; 0 for none.
    var purged: Int64 = 0
    var clearsAcks = false
  }

  private let table: any DeviceTable
  /// By number; nil for unknown devices.
  private var devices: [Int64: Device?] = [:]
  private var acks: [AckKey: ZoneAck?] = [:]
  /// Which devices have acks from other epochs, as long as their acks do not change.
  private var foreign: [Int64: Bool] = [:]
  /// Whether a zone has moved to another database; nil before that was asked.
  private var hasLeft: Bool?
  /// Acks that are stored as those of a lost zone if they have no stored predecessor.
  private var doubted: Set<AckKey> = []
  private var refusals: [NewRefusal] = []
  /// Zones that all devices of a user lose.
  private var losses: [LostZone] = []
  private var lossesBefore = 0

  init(_ table: any DeviceTable) { self.table = table }

  /// Resets the ledger for a new transaction, with the fetched data.
  func begin(_ fetched: Fetched) {
    devices = fetched.devices.mapValues { $0.map { Device(row: $0) } }
    acks.removeAll(keepingCapacity: true)
    foreign.removeAll(keepingCapacity: true)
    hasLeft = nil
    doubted.removeAll(keepingCapacity: true)
    refusals.removeAll(keepingCapacity: true)
    losses.removeAll(keepingCapacity: true)
    beginPart()
  }

  func beginPart() { lossesBefore = losses.count }

  func undoPart() { losses.removeLast(losses.count - lossesBefore) }

  /// Adds the changes for the write before the commit.
  func fill(_ delta: inout Delta) {
    for (number, device) in devices.sorted(by: { $0.key < $1.key }) {
      guard let device else { continue }
      if device.isMoved { delta.movedDevices.append(MovedDevice(number: number, state: device.row.state)) }
      if device.purged > 0 { delta.purgedRefusals.append((number, device.purged)) }
      if device.clearsAcks { delta.clearedAcks.append(number) }
    }
    delta.refusals = refusals
    delta.acks = acks.sorted { $0.key < $1.key }.map {
      NewAck(key: $0, ack: $1, isDoubted: doubted.contains($0))
    }
    delta.losses = losses
  }

  private func known(_ number: Int64) throws -> Device? {
    if let known = devices[number] { return known }
    let found = try table.row(number).map { Device(row: $0) }
    devices[number] = .some(found)
    return found
  }

  private func change(_ number: Int64, _ body: (inout Device) -> Void) throws {
    guard var device = try known(number) else { return }
    body(&device)
    devices[number] = .some(device)
  }

  /// The device of a key, or nil if its token is no longer valid.
  func device(_ key: DeviceKey) throws -> DeviceState? {
    guard let row = try known(key.number)?.row, row.token == key.token.withBytes({ Array($0) }) else {
      return nil
    }
    return row.state
  }

  /// The ids of a device and of its user; nil for the server itself.
  func owner(of number: Int64) throws -> (id: String, user: String)? {
    if let row = (devices[number] ?? nil)?.row { return (row.state.id, row.state.user) }
    return number == 0 ? nil : try table.owner(of: number)
  }

  /// Stores the state of a device, and that the device is alive.
  ///
  /// - Parameter now: the time of the clock, in milliseconds since 1970.
  func advance(_ number: Int64, to state: DeviceState, clock: Stamp, at now: Int64) throws {
    try change(number) { device in
      device.row.state = state
      device.row.state.clock = clock
      device.row.state.isSessionUsed = true
      device.row.state.seenAt = now
      device.isMoved = true
    }
  }

  // MARK: Refusals

  /// The number of refusals that remain after the device acknowledges those up to `last`.
  func refusals(_ number: Int64, after last: Int64) throws -> Int {
    try known(number)?.row.refusals.count { $0 > last } ?? 0
  }

  /// Purges the refusals that the device has acknowledged.
  func purgeRefusals(_ number: Int64, upTo last: Int64) throws {
    guard try known(number)?.row.refusals.contains(where: { $0 <= last }) == true else { return }
    try change(number) { device in
      device.row.refusals.removeAll { $0 <= last }
      device.purged = last
    }
    refusals.removeAll { $0.device == number && $0.last <= last }
  }

  /// Stores why a change set was refused, until the device acknowledges it.
  func addRefusal(_ number: Int64, first: Int64, count: Int, _ refused: RefusedOperation) throws {
    let last = first + Int64(count) - 1
    try change(number) { $0.row.refusals.append(last) }
    refusals.append(
      NewRefusal(
        device: number, first: first, last: last, operation: first + Int64(min(refused.index, count - 1)),
        problem: refused.problem.document))
  }

  // MARK: Acks

  /// Whether a device has more acks than `limit`.
  func hasAcks(_ number: Int64, beyond limit: Int) throws -> Bool {
    if let count = (devices[number] ?? nil)?.row.ackCount { return count > limit }
    return try table.hasAcks(number, beyond: limit)
  }

  /// Whether a device has an ack from an epoch other than `epoch`, of a zone that it has not lost since.
  func hasAcks(_ number: Int64, notOf epoch: String) throws -> Bool {
    if let known = foreign[number] { return known }
    let found = try findAcks(number, notOf: epoch)
    foreign[number] = found
    return found
  }

  /// Whether devices may have a zone that has moved to another database.
  func mayHaveLeftZones() throws -> Bool {
    if let hasLeft { return hasLeft }
    let found = try table.hasLeftZones()
    hasLeft = found
    return found
  }

  private func findAcks(_ number: Int64, notOf epoch: String) throws -> Bool {
    let pending = acks.filter { $0.key.device == number }
    if pending.contains(where: { isForeign($0.key, $0.value, epoch) }) { return true }
    if (devices[number] ?? nil)?.clearsAcks == true { return false }
    // One more than those that the transaction replaces.
    return try table.ackedZones(of: number, notOf: epoch, limit: pending.count + 1).contains { zone in
      pending[AckKey(device: number, zone: zone)] == nil
    }
  }

  /// Whether a device of the user acked the zone in an epoch other than `epoch`, and the user has not lost the zone since.
  func hasAck(of zone: String, by user: String, notOf epoch: String) throws -> Bool {
    let isPending = acks.contains { key, ack in
      key.zone == zone && (devices[key.device] ?? nil)?.row.state.user == user && isForeign(key, ack, epoch)
    }
    return try isPending || table.hasAck(of: zone, by: user, notOf: epoch)
  }

  private func isForeign(_ key: AckKey, _ ack: ZoneAck?, _ epoch: String) -> Bool {
    guard let ack, !doubted.contains(key) else { return false }
    return !ack.epoch.isEmpty && ack.epoch != epoch
  }

  /// Whether a device acked a zone up to `seq`, and has not lost the zone since.
  func hasAcked(_ seq: Int64, of zone: String, device number: Int64) throws -> Bool {
    let device = try known(number)
    if losses.contains(where: { $0.zone == zone && $0.user == device?.row.state.user }) { return false }
    let key = AckKey(device: number, zone: zone)
    if let pending = acks[key], !doubted.contains(key) { return pending.map { $0.seq >= seq } ?? false }
    if device?.clearsAcks == true { return false }
    return try table.hasAcked(seq, of: zone, device: number)
  }

  /// Purges all acks of a device, except those of lost zones.
  func purgeAcks(_ number: Int64) throws {
    foreign[number] = nil
    try change(number) { $0.clearsAcks = true }
    acks = acks.filter { $0.key.device != number }
  }

  /// Stores an ack; nil means that the device no longer has the zone. If the user lost the zone meanwhile, the device must resync or drop
  /// it.
  ///
  /// - Parameter isDoubted: whether an ack without a stored predecessor counts as one of a lost zone.
  func setAck(_ number: Int64, zone: String, _ ack: ZoneAck?, isDoubted: Bool) {
    let key = AckKey(device: number, zone: zone)
    foreign[number] = nil
    acks[key] = .some(ack)
    if isDoubted, ack?.epoch.isEmpty == false { doubted.insert(key) } else { doubted.remove(key) }
  }

  /// Records that a device whose acks were purged has sent all of them again.
  func remember(_ number: Int64) throws {
    try table.remember(number)
    try change(number) { $0.row.state.hasPurgedAcks = false }
  }

  /// Records that a user loses a zone. If the user regains it before a device has seen the loss, that device must resync.
  ///
  /// - Parameter seq: the zone's current seq. It is added to the user's loss counter.
  func noteLoss(of zone: String, by user: String, at seq: Int64) {
    losses.append(LostZone(zone: zone, user: user, seq: seq))
  }

  // MARK: Sessions

  /// Begins a new session of a device, which invalidates its previous token.
  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    try table.beginSession(number, of: device, name: name, token: token, at: now)
    for (number, known) in devices where known?.row.state.id == device {
      try change(number) { device in
        device.row.token = token.withBytes { Array($0) }
        device.row.state.isSessionUsed = false
      }
    }
  }

  /// Invalidates the device's token, or all JWTs issued for the device until now.
  func revoke(_ number: Int64, at now: Int64) throws {
    try table.revoke(number, at: now)
    guard devices[number] != nil else { return }
    try change(number) { device in
      if device.row.state.issuedAfter == nil {
        device.row.token = nil
      } else {
        device.row.state.issuedAfter = now
      }
    }
  }

  /// Deletes the tokens, names and client versions of devices permanently.
  func strip(_ numbers: [Int64]) throws {
    try table.strip(numbers)
    for number in numbers where devices[number] != nil { try change(number) { $0.row.token = nil } }
  }
}
