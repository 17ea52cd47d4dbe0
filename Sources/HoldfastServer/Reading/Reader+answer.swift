import HoldfastCore
import HoldfastSQLite

/// What the server knows about one zone of a device.
struct ZoneState {
  let zone: String
  /// The ack, whose epoch is empty at the beginning of the zone.
  let ack: SyncCommand.Ack
  let seq: Int64
  let purged: Int64
  /// The role of the device's user; empty for a zone that may not be read.
  let role: String
  /// Whether the user lost the zone after the device's ack: what the device did meanwhile was done as a stranger.
  let wasLost: Bool

  /// The ack as a token of the wire.
  var token: String { ack.epoch.isEmpty ? "" : ChangeToken(epoch: ack.epoch, seq: ack.seq).text }

  /// Whether the device must begin the zone anew: its ack is of another history, or older than what is remembered, or the zone was
  /// lost in between.
  func isFenced(epoch: String) -> Bool {
    wasLost || !ack.epoch.isEmpty && (ack.epoch != epoch || ack.seq < purged || ack.seq > seq)
  }

  /// Whether there is something that the device has not seen.
  var hasNews: Bool { ack.epoch.isEmpty || seq > ack.seq }
}

extension Reader {
  /// All zones of a device: those of its user, and those that it acks.
  func zones(of device: KnownDevice) throws -> [ZoneState] {
    try findZones.bind(device.key.number, at: 1)
    try findZones.bind(device.user, at: 2)
    defer { findZones.reset() }
    var zones: [ZoneState] = []
    while try findZones.step() {
      let zone = findZones.text(0)
      zones.append(
        ZoneState(
          zone: zone, ack: SyncCommand.Ack(zone: zone, epoch: findZones.text(1), seq: findZones.integer(2)),
          seq: findZones.integer(3), purged: findZones.integer(4), role: findZones.text(5),
          wasLost: findZones.integer(6) == 1))
    }
    return zones
  }

  /// Whether a request says anything that has to be written.
  func isNews(_ command: SyncCommand, of device: KnownDevice, zones: [ZoneState], now: Int64) throws -> Bool {
    if !command.request.changeSets.isEmpty || command.request.isComplete { return true }
    // That a device is alive is written once a day.
    if device.seenAt + 86_400_000 < now { return true }
    // Many acks are hardly ever all known; comparing them here would take its time from the other requests.
    if command.acks.count > 64 { return true }
    for (zone, ack) in command.acks {
      let known = try storedAck(device.key.number, zone, zones)
      if known != ack { return true }
    }
    return try hasRefusals(device.key.number, upTo: command.request.answers)
  }

  private func storedAck(_ device: Int64, _ zone: String, _ zones: [ZoneState]) throws -> SyncCommand.Ack? {
    // A zone at its beginning may have an ack that says so, or none.
    guard let known = zones.first(where: { $0.zone == zone }) else { return nil }
    if !known.ack.epoch.isEmpty { return known.ack }
    let row = try connection.statement("SELECT 1 FROM holdfast_acks WHERE device = ? AND zone = ?")
    try row.bind(device, at: 1)
    try row.bind(zone, at: 2)
    return try row.hasRow() ? known.ack : nil
  }

  /// Writes the answer of `POST /v1/sync`; see PROTOCOL.md, section 3. In a read transaction.
  func answer(
    _ request: SyncRequest, of device: KnownDevice, zones: [ZoneState], clock: Stamp
  ) throws -> [UInt8] {
    var digest = AckDigest()
    for zone in zones { digest.add(zone: zone.zone, token: zone.token) }
    let mustResend = !request.isComplete && digest.text != request.digest
    if mustResend { Trace.took(.resendAsked) }
    var writer = JSONWriter(capacity: 512)
    writer.beginObject()
    writer.key("clock")
    writer.string(clock.text)
    writer.key("confirmed")
    writer.int64(device.confirmed)
    writer.key("chain")
    writer.string(device.chain.text)
    writer.key("refused")
    try writeRefused(device.key.number, to: &writer)
    writer.key("resend")
    writer.bool(mustResend)
    writer.key("zones")
    writer.beginArray()
    if !mustResend { try writeParts(zones, to: &writer) }
    writer.endArray()
    writer.key("lost")
    writer.beginArray()
    for zone in zones where zone.role.isEmpty {
      Trace.took(.lossTold)
      writer.string(zone.zone)
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  private func writeRefused(_ device: Int64, to writer: inout JSONWriter) throws {
    try findRefusals.bind(device, at: 1)
    defer { findRefusals.reset() }
    writer.beginArray()
    while try findRefusals.step() {
      writer.beginObject()
      writer.key("first")
      writer.int64(findRefusals.integer(0))
      writer.key("last")
      writer.int64(findRefusals.integer(1))
      writer.key("operation")
      writer.int64(findRefusals.integer(2))
      writer.key("problem")
      findRefusals.withBlob(3) { writer.rawValue($0.assumingMemoryBound(to: UInt8.self)) }
      writer.endObject()
    }
    writer.endArray()
  }

  /// The zones that have something new, smallest rest first, until the answer is full.
  private func writeParts(_ zones: [ZoneState], to writer: inout JSONWriter) throws {
    var waiting: [ZoneState] = []
    for zone in zones where !zone.role.isEmpty {
      if zone.isFenced(epoch: epoch) {
        Trace.took(.fenced)
        writer.beginObject()
        writer.key("zone")
        writer.string(zone.zone)
        writer.key("reset")
        writer.bool(true)
        writer.endObject()
      } else if zone.hasNews {
        waiting.append(zone)
      }
    }
    waiting.sort { ($0.seq - $0.ack.seq, $0.zone) < ($1.seq - $1.ack.seq, $1.zone) }
    let limit = writer.count + answerSize
    for zone in waiting where try writePart(zone, to: &writer, limit: limit) { break }
  }

  /// Writes a zone's part, with as many of its changes as there is room for.
  ///
  /// - Returns: whether the zone goes on.
  private func writePart(_ zone: ZoneState, to writer: inout JSONWriter, limit: Int) throws -> Bool {
    writer.beginObject()
    writer.key("zone")
    writer.string(zone.zone)
    writer.key("role")
    writer.string(zone.role)
    writer.key("from")
    writer.string(zone.token)
    writer.key("changes")
    let (last, count, hasMore) = try feed.write(
      zone: zone.zone, after: zone.ack.seq, to: &writer, limit: limit)
    writer.key("count")
    writer.int64(count)
    // A part without a change, for which there was no room, leaves the device where it is.
    let isUntouched = hasMore && last == zone.ack.seq
    Trace.took(isUntouched ? .partWithoutRoom : hasMore ? .partUnfinished : .partWhole)
    let reached = hasMore ? last : zone.seq
    writer.key("to")
    writer.string(isUntouched ? zone.token : ChangeToken(epoch: epoch, seq: reached).text)
    writer.key("more")
    writer.bool(hasMore)
    writer.key("remaining")
    writer.int64(zone.seq - reached)
    writer.endObject()
    return hasMore
  }
}
