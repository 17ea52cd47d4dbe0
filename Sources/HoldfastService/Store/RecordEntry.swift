package import HoldfastCore

/// All that a database has of one record: where it lives, what stays of it in zones that it was in, and its values while it lives.
package struct RecordEntry {
  package var places = RecordPlaces()
  package var values: [Value]?

  package init() {}

  /// The zone in which the record lives.
  package var home: String? { places.first { $0.place.state == .live }?.zone }
}

/// What a record has in one zone.
package struct RecordPlace: Equatable {
  package enum State: Int64 {
    case live = 0
    case deleted = 1
    case departed = 2
  }

  package var state: State
  package var seq: Int64
  package var rev: Int64
  /// Of a record that lives.
  package var stamps: String?
  /// Of one that went: when, by which device, and at which seq of the zone.
  package var stamp: Int64?
  package var device: Int64?
  package var deletedSeq: Int64?
  /// The bytes that the record is counted with in its zone; 0 of one that is not there.
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
