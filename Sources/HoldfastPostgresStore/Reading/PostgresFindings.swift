import HoldfastCore
import HoldfastService

/// What was read for requests, and what of it they will still miss. What one request gets of it is of one moment.
struct PostgresFindings {
  /// A device, and all that is known of where it stands; without a device for the token of nobody.
  struct Found {
    var device: KnownDevice?
    var zones: [ZoneProgress] = []
    var refusals: [StoredRefusal] = []
    /// The zones that it gets changes of.
    var waiting: [ZoneProgress] = []
    /// The state of the database in which it was read.
    var snapshot = ""
    /// The moment in which it was read, and the history then.
    var moment = 0
    var history: History?
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

  /// Takes stretches that were read in a moment.
  mutating func add(_ read: [PostgresStretch], in moment: Int) {
    for stretch in read { stretches[PostgresStretch.Key(stretch.zone, in: moment)] = stretch }
  }

  /// Takes devices that were read in a moment; of tokens that nobody has, too.
  mutating func add(_ read: [TokenHash: Found], of tokens: [TokenHash], in moment: Int, _ history: History) {
    for token in tokens {
      var found = read[token] ?? Found()
      (found.moment, found.history) = (moment, history)
      devices[token] = found
    }
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

  /// Whether a request will ask for changes that were not read in its moment.
  func isMissing(_ lookUp: LookUp, epoch: String) -> Bool {
    guard let moment = devices[lookUp.token]?.moment else { return false }
    let count = lookUp.count
    return expected(of: lookUp, epoch: epoch).contains { !has($0, count: count, epoch: epoch, in: moment) }
  }

  /// The changes that requests will ask for, and that have not been written before.
  func missing(of lookUps: [LookUp], epoch: String) -> [ZoneProgress] {
    Self.unique(
      lookUps.flatMap { lookUp in
        expected(of: lookUp, epoch: epoch).filter { parts[$0, lookUp.count, epoch] == nil }
      })
  }

  /// The changes that a request will ask for; none where they are many.
  private func expected(of lookUp: LookUp, epoch: String) -> [ZoneProgress] {
    guard let found = devices[lookUp.token], found.device != nil else { return [] }
    var zones = found.waiting
    switch lookUp.changes {
    case .none: return []
    case .all(let acks):
      // What is new is written first, and read then.
      if acks.contains(where: { zone, ack in found.zones.first { $0.zone == zone }?.ack != ack }) {
        return []
      }
    case .written: break
    case .zone(let name, let since, _):
      zones = ZoneProgress.waiting(
        found.zones.filter { $0.zone == name }.map { $0.acked(since) }, epoch: epoch)
    }
    let isMuch =
      zones.count > Self.zones || zones.contains { $0.seq - $0.ack.seq > PostgresChangeFeed.few }
    return isMuch ? [] : zones
  }

  /// Whether the changes of a zone need not be read any more.
  func has(_ zone: ZoneProgress, count: Int64, epoch: String, in moment: Int) -> Bool {
    stretches[PostgresStretch.Key(zone, in: moment)] != nil || parts[zone, count, epoch] != nil
  }

  private static func unique(_ zones: [ZoneProgress]) -> [ZoneProgress] {
    var known: Set<PostgresStretch.Key> = []
    return zones.filter { known.insert(PostgresStretch.Key($0, in: 0)).inserted }
  }
}
