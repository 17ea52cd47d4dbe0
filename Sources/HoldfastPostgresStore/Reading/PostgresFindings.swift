import HoldfastCore
import HoldfastService

/// The rows that were read for a batch of requests, and which further changes these need. A request gets rows of one snapshot only.
struct PostgresFindings {
  /// A device with its zones and refusals. `device` is nil for an unknown token.
  struct Found {
    var device: KnownDevice?
    var zones: [ZoneProgress] = []
    var refusals: [StoredRefusal] = []
    /// The zones with changes for the device.
    var waiting: [ZoneProgress] = []
    /// The state of the database in which this is true, and the server's history in it.
    let state: SnapshotState
    let history: History
  }

  /// The maximum number of zones of a device to read ahead.
  private static let zones = 16

  /// The cache of parts.
  let parts: PartCache
  private let hints: PostgresFeedHints
  /// By token.
  var devices: [TokenHash: Found] = [:]
  var stretches: [PostgresStretch.Key: PostgresStretch] = [:]

  init(_ parts: PartCache, _ hints: PostgresFeedHints) { (self.parts, self.hints) = (parts, hints) }

  /// Removes everything.
  mutating func removeAll() { (devices, stretches) = ([:], [:]) }

  /// Adds devices.
  mutating func add(_ found: [TokenHash: Found]) { devices.merge(found) { $1 } }

  /// Adds stretches that were read in a state.
  mutating func add(_ read: [PostgresStretch], in state: SnapshotState?) {
    for stretch in read { stretches[PostgresStretch.Key(stretch.zone, in: state)] = stretch }
  }

  /// The changes that requests will probably need, predicted before anything is read.
  func guesses(of lookUps: [LookUp]) -> [ZoneProgress] { Self.unique(lookUps.flatMap { guesses(of: $0) }) }

  private func guesses(of lookUp: LookUp) -> [ZoneProgress] {
    let (acks, isCertain): ([ZoneAck], Bool) =
      switch lookUp.changes {
      case .none: ([], false)
      case .all(let acks): (acks.compactMap(\.ack), false)
      case .written(let acks, let created): (acks.compactMap(\.ack).filter { !created.goOn(from: $0) }, true)
      case .zone(let zone, let token, _):
        ([ZoneAck(zone: zone, epoch: token?.epoch ?? "", seq: token?.seq ?? 0)], false)
      }
    return acks.filter { isCertain || hints.hasFew($0.zone, after: $0.seq) }.prefix(Self.zones).map {
      ZoneProgress(zone: $0.zone, ack: $0, isStored: false, seq: 0, purged: 0, role: "", wasLost: false)
    }
  }

  /// Whether a request needs changes that were not read from its snapshot.
  func isMissing(_ lookUp: LookUp) -> Bool {
    guard let found = devices[lookUp.token] else { return false }
    return expected(of: lookUp, found).contains { !has($0, count: lookUp.count, of: found) }
  }

  /// The changes that requests need, without those that are in the cache of parts.
  func missing(of lookUps: [LookUp]) -> [ZoneProgress] {
    Self.unique(
      lookUps.flatMap { lookUp -> [ZoneProgress] in
        guard let found = devices[lookUp.token] else { return [] }
        return expected(of: lookUp, found).filter { parts[$0, lookUp.count, found.history.epoch] == nil }
      })
  }

  /// The changes that a request needs; none if there are many.
  private func expected(of lookUp: LookUp, _ found: Found) -> [ZoneProgress] {
    if found.device == nil { return [] }
    let epoch = found.history.epoch
    var zones = found.waiting
    switch lookUp.changes {
    case .none: return []
    case .all(let acks):
      // Acks that differ from the stored ones are written first. The zones are read afterwards.
      let differs = { (zone: String, ack: ZoneAck?) in found.zones.first { $0.zone == zone }?.ack != ack }
      if zones.isEmpty || acks.contains(where: differs) { return [] }
    case .written(_, let created): zones = zones.filter { created.all(of: $0, in: epoch).isEmpty }
    case .zone(let name, let since, _):
      zones = ZoneProgress.waiting(
        found.zones.filter { $0.zone == name }.map { $0.acked(since) }, epoch: epoch)
    }
    let isMuch =
      zones.count > Self.zones || zones.contains { $0.seq - $0.ack.seq > PostgresChangeFeed.few }
    return isMuch ? [] : zones
  }

  /// Whether the changes of a zone were read already, or are in the cache of parts.
  func has(_ zone: ZoneProgress, count: Int64, of found: Found) -> Bool {
    stretches[PostgresStretch.Key(zone, in: found.state)] != nil
      || parts[zone, count, found.history.epoch] != nil
  }

  private static func unique(_ zones: [ZoneProgress]) -> [ZoneProgress] {
    var known: Set<PostgresStretch.Key> = []
    return zones.filter { known.insert(PostgresStretch.Key($0, in: nil)).inserted }
  }
}
