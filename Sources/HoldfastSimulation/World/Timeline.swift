/// A priority queue of future events: earliest first, and first in, first out at the same time. A binary heap.
struct Timeline<Event> {
  private struct Entry {
    let time: Int64
    let number: Int
    let event: Event

    func isBefore(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
  }

  private var heap: [Entry] = []
  private var added = 0

  /// The time of the next event.
  var nextTime: Int64? { heap.first?.time }
  var next: Event? { heap.first?.event }

  mutating func add(_ event: Event, at time: Int64) {
    added += 1
    heap.append(Entry(time: time, number: added, event: event))
    var child = heap.count - 1
    while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeNext() -> (time: Int64, event: Event)? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.time, first.event)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].isBefore(heap[least]) { least = child }
      }
      if least == parent { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
