import HoldfastCore
import HoldfastService

/// The tombstones, in the transaction's working set.
final class PostgresTombstones: TombstoneTable {
  private unowned let store: PostgresStore

  init(_ store: PostgresStore) { self.store = store }

  func deletion(_ id: String, of table: String) throws -> Tombstone? {
    let entry = try store.entry(key(table, id))
    guard let (zone, place) = entry.places.first(where: { $0.value.state == .deleted }) else { return nil }
    return Tombstone(place, zone: zone)
  }

  func insert(_ tombstone: Tombstone, seq: Int64, of id: String, in table: String, isDeparture: Bool) throws {
    store.working.change(key(table, id)) { entry in
      entry.places[tombstone.zone] = PostgresWorkingSet.Place(
        state: isDeparture ? .departed : .deleted, seq: seq, rev: tombstone.rev,
        stamp: tombstone.stamp.rawValue, device: tombstone.device, deletedSeq: tombstone.deletedSeq ?? seq)
    }
  }

  func becomeDeparture(_ id: String, of table: String, in zone: String) throws {
    store.working.change(key(table, id)) { $0.places[zone]?.state = .departed }
  }

  func remove(_ id: String, of table: String, in zone: String) throws {
    store.working.change(key(table, id)) { entry in
      if entry.places[zone]?.state != .live { entry.places[zone] = nil }
    }
  }

  private func key(_ table: String, _ id: String) -> Footprint.Key {
    Footprint.Key(table: store.schema.index(of: table) ?? 0, id: id)
  }
}
