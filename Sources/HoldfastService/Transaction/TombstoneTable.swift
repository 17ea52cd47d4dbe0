import HoldfastCore

/// The tombstones in a transaction. A record has at most one tombstone per zone.
package final class TombstoneTable {
  private unowned let transaction: Transaction

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// The tombstone of a deletion, or nil. Departures do not count.
  package func deletion(_ id: String, of table: String) throws -> Tombstone? {
    let entry = try transaction.entry(key(table, id))
    return entry.places.first { $0.state == .deleted }.map { Tombstone($0) }
  }

  /// The rev of a record that is made while it lives nowhere: beyond those of its departures, which devices may have yet.
  func newRev(_ id: String, of table: String) throws -> Int64 {
    let last = try transaction.entry(key(table, id)).places.map(\.rev).max()
    return last.map(Revision.after) ?? 1
  }

  /// Writes a tombstone. It replaces an earlier one.
  func insert(_ tombstone: Tombstone, seq: Int64, of id: String, in table: String, isDeparture: Bool) {
    transaction.working.change(key(table, id)) { entry in
      entry.places.put(
        RecordPlace(
          zone: tombstone.zone, state: isDeparture ? .departed : .deleted, seq: seq, rev: tombstone.rev,
          stamp: tombstone.stamp.rawValue, device: tombstone.device, deletedSeq: tombstone.deletedSeq ?? seq))
    }
  }

  /// Turns the tombstone of a deletion into a departure, because the record is live in another zone.
  package func becomeDeparture(_ id: String, of table: String, in zone: String) {
    transaction.working.change(key(table, id)) { entry in
      guard var place = entry.places[zone] else { return }
      place.state = .departed
      entry.places.put(place)
    }
  }

  /// Removes a record's tombstone from a zone in which the record is live again.
  func remove(_ id: String, of table: String, in zone: String) throws {
    let key = key(table, id)
    let place = try transaction.entry(key).places[zone]
    if place == nil || place?.state == .live { return }
    transaction.working.change(key) { $0.places.remove(zone) }
  }

  private func key(_ table: String, _ id: String) -> Footprint.Key {
    Footprint.Key(table: transaction.schema.index(of: table) ?? 0, id: id)
  }
}

extension Tombstone {
  /// The tombstone of a record in a zone.
  package init(_ place: RecordPlace) {
    self.init(
      zone: place.zone, rev: place.rev, stamp: Stamp(rawValue: place.stamp ?? 0), device: place.device ?? 0,
      deletedSeq: place.deletedSeq, seq: place.seq, counted: place.size)
  }
}
