package import HoldfastCore

/// The stored state of one record: its zone, its tombstones in other zones, and its values if it is live.
package struct RecordEntry {
  package var places = RecordPlaces()
  package var values: [Value]?

  package init() {}

  /// The zone in which the record lives.
  package var home: String? { places.first { $0.place.state == .live }?.zone }
}

/// The state of a record in one zone.
package struct RecordPlace: Equatable {
  package enum State: Int64 {
    case live = 0
    case deleted = 1
    case departed = 2
  }

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
    state: State, seq: Int64, rev: Int64, stamps: String? = nil, stamp: Int64? = nil, device: Int64? = nil,
    deletedSeq: Int64? = nil, size: Int64 = 0
  ) {
    (self.state, self.seq, self.rev, self.stamps, self.stamp, self.device, self.deletedSeq, self.size) = (
      state, seq, rev, stamps, stamp, device, deletedSeq, size
    )
  }
}

/// The places of a record by zone; most records have one.
package struct RecordPlaces: Sequence {
  package typealias Element = (zone: String, place: RecordPlace)

  private var all: [Element] = []

  package init() {}

  package init(_ places: some Sequence<Element>) { all = Array(places) }

  package subscript(zone: String) -> RecordPlace? {
    get { all.first { $0.zone == zone }?.place }
    set {
      guard let index = all.firstIndex(where: { $0.zone == zone }) else {
        if let newValue { all.append((zone, newValue)) }
        return
      }
      if let newValue { all[index].place = newValue } else { all.remove(at: index) }
    }
  }

  package func makeIterator() -> IndexingIterator<[Element]> { all.makeIterator() }
}
