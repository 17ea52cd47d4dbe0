import HoldfastCore
import HoldfastService

/// What was read for requests, and what of it they will still miss. What one request gets of it is of one moment.
struct PostgresFindings {
  /// A device, and all that is known of where it stands; without a device for the token of nobody.
  struct Found {
    var device: KnownDevice?
    var zones: [ZoneProgress] = []
    var refusals: [StoredRefusal] = []
  }

  /// How many zones of a device are read ahead.
  private static let zones = 16

  /// The parts that were written before.
  let parts: PostgresPartCache
  private let hints: PostgresFeedHints
  /// By the tokens that were asked for.
  var devices: [TokenHash: Found] = [:]
  var stretches: [PostgresStretch.Key: PostgresStretch] = [:]

  init(_ parts: PostgresPartCache, _ hints: PostgresFeedHints) { (self.parts, self.hints) = (parts, hints) }

  /// Forgets all.
  mutating func removeAll() { (devices, stretches) = ([:], [:]) }

  /// Takes stretches.
  mutating func add(_ read: [PostgresStretch]) {
    for stretch in read { stretches[PostgresStretch.Key(stretch.zone)] = stretch }
  }

  /// Changes that requests are likely to ask for, before anything was read.
  func guesses(of lookUps: [LookUp]) -> [ZoneProgress] { Self.unique(lookUps.flatMap { guesses(of: $0) }) }

  private func guesses(of lookUp: LookUp) -> [ZoneProgress] {
    let (acks, isCertain): ([ZoneAck], Bool) =
      switch lookUp.changes {
      case .none: ([], false)
      case .all(let acks): (acks.compactMap(\.ack), false)
      case .written(let acks): (acks.compactMap(\.ack), true)
      case .zone(let zone, let token, _):
        ([ZoneAck(zone: zone, epoch: token?.epoch ?? "", seq: token?.seq ?? 0)], false)
      }
    return acks.filter { isCertain || hints.hasFew($0.zone, after: $0.seq) }.prefix(Self.zones).map {
      ZoneProgress(zone: $0.zone, ack: $0, isStored: false, seq: 0, purged: 0, role: "", wasLost: false)
    }
  }

  /// Changes that requests will ask for, and that are neither read nor known.
  func missing(of lookUps: [LookUp], epoch: String) -> [ZoneProgress] {
    Self.unique(lookUps.flatMap { missing(of: $0, epoch: epoch) })
  }

  /// None where they are many.
  func missing(of lookUp: LookUp, epoch: String) -> [ZoneProgress] {
    guard let found = devices[lookUp.token], found.device != nil else { return [] }
    var (zones, count) = (found.zones, Int64.max)
    switch lookUp.changes {
    case .none: return []
    case .all(let acks):
      // What is new is written first, and read then.
      if acks.contains(where: { zone, ack in found.zones.first { $0.zone == zone }?.ack != ack }) {
        return []
      }
    case .written: break
    case .zone(let name, let since, let most):
      count = most
      zones = zones.filter { $0.zone == name }.map { $0.acked(since) }
    }
    zones = ZoneProgress.waiting(zones, epoch: epoch)
    if zones.count > Self.zones || zones.contains(where: { $0.seq - $0.ack.seq > PostgresChangeFeed.few }) {
      return []
    }
    return zones.filter { !has($0, count: count, epoch: epoch) }
  }

  /// Whether the changes of a zone need not be read any more.
  func has(_ zone: ZoneProgress, count: Int64, epoch: String) -> Bool {
    stretches[PostgresStretch.Key(zone)] != nil || parts[zone, count, epoch] != nil
  }

  private static func unique(_ zones: [ZoneProgress]) -> [ZoneProgress] {
    var known: Set<PostgresStretch.Key> = []
    return zones.filter { known.insert(PostgresStretch.Key($0)).inserted }
  }
}
