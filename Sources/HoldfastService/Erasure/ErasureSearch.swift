package import HoldfastCore

/// Searches for remaining data of users under erasure, over a read-only connection: docs/EXPORT-AND-ERASURE.md, section 2.
struct ErasureSearch {
  /// The progress of the search through the records.
  private struct Place {
    let user: String
    /// The index in `tables`.
    let table: Int
    let seq: Int64
    let zone: String

    init(user: String, table: Int = 0, seq: Int64 = 0, zone: String) {
      (self.user, self.table, self.seq, self.zone) = (user, table, seq, zone)
    }

    init?(_ text: String) {
      let parts = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
      guard parts.count == 4, let table = Int(parts[1]), let seq = Int64(parts[2]) else { return nil }
      self.init(user: parts[0], table: table, seq: seq, zone: parts[3])
    }

    var text: String { "\(user) \(table) \(seq) \(zone)" }
  }

  let store: any StoreReader
  /// Children first, so that few records cascade with another.
  private let tables: [Int]

  init(_ store: any StoreReader, _ schema: SyncSchema) {
    self.store = store
    tables = schema.parentsFirst.reversed()
  }

  /// The zones of a user, with those that have moved to another database: their records are here until they are dropped.
  private func zones(of user: String) throws -> [String] {
    let zones = try store.visibleZones(of: user, publicZones: []).zones.map(\.zone)
    return try (zones + store.leftZones(of: user)).sorted()
  }

  /// The zones of the next user whose id is greater than `id`.
  func departures(after id: String) throws -> FoundPurgeable {
    guard let user = try store.erasedUser(after: id) else { return FoundPurgeable() }
    let zones = try zones(of: user) + store.pendingZones(of: user)
    return FoundPurgeable(
      items: Purgeable.grouped(zones.map { .departure(user: user, zone: $0) }), next: user)
  }

  /// What one search reads at most: each table of a zone counts as one, and so do ten changes. Tombstones are among them, as the erasure makes them.
  private static let effort = 2_000

  /// The next records of a user's zones, and the memberships of the zones that are then empty. These come last: a transaction reads no zone as
  /// empty that it empties.
  ///
  /// - Parameter limit: the maximum number of records to find.
  func records(after text: String, limit: Int) throws -> FoundPurgeable {
    guard let place = try Place(text) ?? firstPlace(after: "") else { return FoundPurgeable() }
    var (table, seq) = (place.table, place.seq)
    var (records, departures): ([Purgeable], [Purgeable]) = ([], [])
    var (left, effort) = (limit, Self.effort)
    func found(next: String?) -> FoundPurgeable {
      FoundPurgeable(items: Purgeable.grouped(records) + Purgeable.grouped(departures), next: next)
    }
    for zone in try zones(of: place.user) {
      if zone.utf8.lexicographicallyPrecedes(place.zone.utf8) { continue }
      if !zone.utf8.elementsEqual(place.zone.utf8) { (table, seq) = (0, 0) }
      while table < tables.count {
        guard left > 0, effort > 0 else {
          return found(next: Place(user: place.user, table: table, seq: seq, zone: zone).text)
        }
        let changes = try store.changes(of: tables[table], in: zone, after: seq, limit: limit)
        let live = changes.compactMap { change -> Footprint.Key? in
          if case .live = change.content { .init(table: tables[table], id: change.id) } else { nil }
        }
        if !live.isEmpty { records.append(.erasedRecords(user: place.user, zone: zone, live)) }
        (table, seq) = changes.count == limit ? (table, changes.last?.seq ?? 0) : (table + 1, 0)
        left -= live.count
        effort -= 1 + changes.count / 10
      }
      departures.append(.departure(user: place.user, zone: zone))
      (table, seq) = (0, 0)
    }
    return found(next: try firstPlace(after: place.user)?.text)
  }

  private func firstPlace(after id: String) throws -> Place? {
    try store.erasedUser(after: id).map { Place(user: $0, zone: "") }
  }
}

extension StoreReader {
  /// Searches for purgeable data, including that of users under erasure.
  package func found(
    _ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, in schema: SyncSchema
  ) throws -> FoundPurgeable {
    let limit = FoundPurgeable.most
    switch kind {
    case .departures: return try ErasureSearch(self, schema).departures(after: place)
    case .erasedRecords: return try ErasureSearch(self, schema).records(after: place, limit: limit)
    case .remains:
      guard let user = try erasedUser(after: place) else { return FoundPurgeable() }
      return FoundPurgeable(items: [.remains(user: user)], next: user)
    case .endings:
      guard let user = try erasedUser(after: place), try emptyLog() else { return FoundPurgeable() }
      return FoundPurgeable(items: [.ending(user: user)], next: user)
    default: return try purgeable(kind, after: place, terms, limit: limit)
    }
  }
}
