import HoldfastCore

/// Looks for what is left of users who are being erased, over a connection that reads: docs/LEAVING.md, section 2.
struct ErasureSearch {
  /// How far the records were gone through.
  private struct Place {
    let user: String
    /// Among `tables`.
    var table: Int
    var seq: Int64
    var zone: String

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
  /// Children first, so that few records go with another.
  private let tables: [Int]

  init(_ store: any StoreReader, _ schema: Schema) {
    self.store = store
    tables = schema.parentsFirst.reversed()
  }

  /// The zones of the next user behind an id.
  func departures(after id: String) throws -> FoundForgettable {
    guard let user = try store.erasedUser(after: id) else { return FoundForgettable() }
    let zones = try store.sight(of: user, publicZones: []).zones
    return FoundForgettable(items: zones.map { .departure(user: user, zone: $0.zone) }, next: user)
  }

  /// The next records of a zone, and at its end its membership, or where to begin with the next one.
  func records(after text: String, limit: Int) throws -> FoundForgettable {
    guard var place = try Place(text) ?? firstPlace(after: "") else { return FoundForgettable() }
    guard place.table < tables.count else {
      return FoundForgettable(
        items: [.departure(user: place.user, zone: place.zone)],
        next: try self.place(behind: place.zone, of: place.user)?.text)
    }
    let table = tables[place.table]
    let changes = try store.changes(of: table, in: place.zone, after: place.seq, limit: limit)
    let live = changes.compactMap { change -> Expectation.Key? in
      if case .live = change.content { Expectation.Key(table: table, id: change.id) } else { nil }
    }
    let (user, zone) = (place.user, place.zone)
    if changes.count == limit, let last = changes.last {
      place.seq = last.seq
    } else {
      (place.table, place.seq) = (place.table + 1, 0)
    }
    return FoundForgettable(
      items: live.isEmpty ? [] : [.erasedRecords(user: user, zone: zone, live)], next: place.text)
  }

  /// The beginning of the next zone of a user, or of the next user's first.
  private func place(behind zone: String, of user: String) throws -> Place? {
    let next = try store.sight(of: user, publicZones: []).zones
      .first { zone.utf8.lexicographicallyPrecedes($0.zone.utf8) }
    return try next.map { Place(user: user, zone: $0.zone) } ?? firstPlace(after: user)
  }

  private func firstPlace(after id: String) throws -> Place? {
    var last = id
    while let user = try store.erasedUser(after: last) {
      if let zone = try store.sight(of: user, publicZones: []).zones.first {
        return Place(user: user, zone: zone.zone)
      }
      last = user
    }
    return nil
  }
}

extension StoreReader {
  /// Looks for what may be forgotten, users who are being erased among it.
  func found(
    _ kind: Forgettable.Kind, after place: String, _ terms: ForgettingTerms, in schema: Schema
  ) throws -> FoundForgettable {
    let limit = ForgettingPass.look
    switch kind {
    case .departures: return try ErasureSearch(self, schema).departures(after: place)
    case .erasedRecords: return try ErasureSearch(self, schema).records(after: place, limit: limit)
    case .remains:
      guard let user = try erasedUser(after: place) else { return FoundForgettable() }
      return FoundForgettable(items: [.remains(user: user)], next: user)
    case .endings:
      guard let user = try erasedUser(after: place), try emptyLog() else { return FoundForgettable() }
      return FoundForgettable(items: [.ending(user: user)], next: user)
    default: return try forgettable(kind, after: place, terms, limit: limit)
    }
  }
}
