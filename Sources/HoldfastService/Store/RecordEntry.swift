package import HoldfastCore

/// The stored state of one record: its zone, its tombstones in other zones, and its values if it is live.
package struct RecordEntry {
  package var places = RecordPlaces()
  package var values: [Value]?

  package init() {}

  /// The zone in which the record lives.
  package var home: String? { places.first { $0.place.state == .live }?.zone }

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

  /// In a field of its own: so most records need no array.
  private var first: Element?
  private var others: [Element] = []

  package init() {}

  package var isEmpty: Bool { first == nil }

  package init(_ places: some Sequence<Element>) {
    for (zone, place) in places { self[zone] = place }
  }

  package subscript(zone: String) -> RecordPlace? {
    get {
      if let first, first.zone == zone { return first.place }
      return others.isEmpty ? nil : others.first { $0.zone == zone }?.place
    }
    set {
      if first?.zone == zone {
        first = newValue.map { (zone, $0) } ?? (others.isEmpty ? nil : others.removeFirst())
      } else if let index = others.firstIndex(where: { $0.zone == zone }) {
        if let newValue { others[index].place = newValue } else { others.remove(at: index) }
      } else if let newValue {
        if first == nil { first = (zone, newValue) } else { others.append((zone, newValue)) }
      }
    }
  }

  package struct Iterator: IteratorProtocol {
    fileprivate var first: Element?
    fileprivate var others: IndexingIterator<[Element]>

    package mutating func next() -> Element? {
      defer { first = nil }
      return first ?? others.next()
    }
  }

  package func makeIterator() -> Iterator { Iterator(first: first, others: others.makeIterator()) }
}
