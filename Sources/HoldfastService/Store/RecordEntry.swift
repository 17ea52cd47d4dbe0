package import HoldfastCore

/// The stored state of one record: its zone, its tombstones in other zones, and its values if it is live.
package struct RecordEntry {
  package var places = RecordPlaces()
  package var values: [Value]?

  package init() {}

  /// The zone in which the record lives.
  package var home: String? { places.live?.zone }

  /// Whether there is neither a record nor a tombstone.
  package var isNowhere: Bool { values == nil && places.isEmpty }
}

/// The state of a record in one zone.
package struct RecordPlace: Equatable {
  package enum State: Int64 {
    case live = 0
    case deleted = 1
    case departed = 2
  }

  package let zone: String
  package var state: State
  package var seq: Int64
  package var rev: Int64
  /// For a live record: the stamps of its columns.
  package var stamps: String?
  /// For a tombstone: the stamp of the deletion, the device that deleted, and the zone's seq at the deletion.
  package var stamp: Int64?
  package var device: Int64?
  package var deletedSeq: Int64?
  /// The record's share of the zone's byte count; 0 if the record is not live.
  package var size: Int64 = 0

  package init(
    zone: String, state: State, seq: Int64, rev: Int64, stamps: String? = nil, stamp: Int64? = nil,
    device: Int64? = nil, deletedSeq: Int64? = nil, size: Int64 = 0
  ) {
    self.zone = zone
    (self.state, self.seq, self.rev, self.stamps, self.stamp, self.device, self.deletedSeq, self.size) = (
      state, seq, rev, stamps, stamp, device, deletedSeq, size
    )
  }
}

/// The places of a record, at most one per zone; most records have one. In one array, so a record is copied often at little cost.
package struct RecordPlaces: Sequence {
  private var all: [RecordPlace] = []

  package init() {}

  package init(_ places: some Sequence<RecordPlace>) {
    for place in places { put(place) }
  }

  package var isEmpty: Bool { all.isEmpty }

  /// The place where the record lives.
  package var live: RecordPlace? { all.first { $0.state == .live } }

  /// The place in a zone.
  package subscript(zone: String) -> RecordPlace? { all.first { $0.zone == zone } }

  /// Adds a place, or replaces that of the same zone.
  package mutating func put(_ place: RecordPlace) {
    if let index = all.firstIndex(where: { $0.zone == place.zone }) {
      all[index] = place
    } else {
      all.append(place)
    }
  }

  /// Removes the place in a zone.
  package mutating func remove(_ zone: String) { all.removeAll { $0.zone == zone } }

  package func makeIterator() -> IndexingIterator<[RecordPlace]> { all.makeIterator() }
}
