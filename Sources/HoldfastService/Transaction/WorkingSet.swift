import HoldfastCore

/// The records that a transaction has read, and their changes in memory. Changes are written in one batch, and rolled back in memory.
final class WorkingSet {
  typealias Key = Footprint.Key

  /// All that is known of one record.
  private struct Slot {
    let key: Key
    /// What is in the database; nil where that was not read.
    var stored: RecordEntry?
    /// What differs from it.
    var changed: RecordEntry?
    /// Whether the database has nothing of it, and nothing has been made of it.
    var isNowhere = false
    /// Whether the part can undo what it does to it.
    var isNoted = false
    /// Whether it is among `order`.
    var isOrdered = false
  }

  private var slots: [Slot] = []
  private var places: [Key: Int] = [:]
  /// Where the record is that was asked for last: an operation asks for its own many times.
  private var last = 0
  /// Indexes of the changed records, by zone, reference and unique values.
  private(set) var index: ChangedIndex
  private var lists: ChangedLists
  /// How many records differ from the database.
  private(set) var changedCount = 0
  /// The changed records in the order of their first change. Records that are unchanged again may remain in it.
  private var order: [Int] = []
  private var journal: [(slot: Int, stored: RecordEntry?, changed: RecordEntry?)] = []

  init(_ schema: SyncSchema) {
    index = ChangedIndex(schema)
    lists = ChangedLists(schema)
  }

  subscript(key: Key) -> RecordEntry? { place(of: key).flatMap { slots[$0].changed ?? slots[$0].stored } }

  /// What is in the database of a record; nil where that was not read.
  func stored(_ key: Key) -> RecordEntry? { place(of: key).flatMap { slots[$0].stored } }

  /// What a record has become that has changed; nil for others.
  func changed(_ key: Key) -> RecordEntry? { place(of: key).flatMap { slots[$0].changed } }

  /// Whether a record has changed.
  func isChanged(_ key: Key) -> Bool { place(of: key).map { slots[$0].changed != nil } ?? false }

  /// Whether there is neither a record nor a tombstone; nil where that was not read.
  func isNowhere(_ key: Key) -> Bool? {
    guard let place = place(of: key) else { return nil }
    if slots[place].isNowhere { return true }
    return slots[place].changed == nil && slots[place].stored == nil ? nil : false
  }

  /// All records that have changed.
  var changed: some Sequence<(key: Key, value: RecordEntry)> {
    slots.lazy.compactMap { slot in slot.changed.map { (key: slot.key, value: $0) } }
  }

  private func place(of key: Key) -> Int? {
    if last < slots.count, slots[last].key == key { return last }
    guard let place = places[key] else { return nil }
    last = place
    return place
  }

  private func ownPlace(of key: Key) -> Int {
    if let known = place(of: key) { return known }
    last = slots.count
    places[key] = last
    slots.append(Slot(key: key))
    return last
  }

  /// Adds a record that was read.
  func learn(_ key: Key, _ entry: RecordEntry) {
    let place = ownPlace(of: key)
    slots[place].stored = entry
    slots[place].isNowhere = entry.isNowhere && slots[place].changed == nil
  }

  /// Clears everything.
  func removeAll() {
    slots.removeAll(keepingCapacity: true)
    places.removeAll(keepingCapacity: true)
    clearLookups()
    beginPart()
  }

  private func clearLookups() {
    changedCount = 0
    order.removeAll(keepingCapacity: true)
    index.removeAll()
    lists.removeAll()
  }

  /// Changes a record that was read before.
  func change(_ key: Key, _ body: (inout RecordEntry) -> Void) {
    let place = ownPlace(of: key)
    note(place)
    let before = slots[place].changed
    var entry = before ?? slots[place].stored ?? RecordEntry()
    body(&entry)
    add(place)
    set(place, entry, over: before)
  }

  private func set(_ place: Int, _ entry: RecordEntry?, over before: RecordEntry?) {
    changedCount += (entry == nil ? 0 : 1) - (before == nil ? 0 : 1)
    slots[place].changed = entry
    slots[place].isNowhere = entry == nil && slots[place].stored?.isNowhere == true
    index.move(slots[place].key, from: before, to: entry)
    lists.put(slots[place].key, entry)
  }

  private func add(_ place: Int) {
    if slots[place].isOrdered { return }
    slots[place].isOrdered = true
    order.append(place)
  }

  /// The changes to write, in their order.
  var delta: [ChangedRecord] {
    order.compactMap { place in
      slots[place].changed.map { ChangedRecord(key: slots[place].key, before: slots[place].stored, now: $0) }
    }
  }

  /// Marks all changes as written to the database.
  func settle() {
    for place in order {
      slots[place].isOrdered = false
      guard let entry = slots[place].changed else { continue }
      note(place)
      slots[place].stored = entry
      slots[place].changed = nil
      slots[place].isNowhere = entry.isNowhere
    }
    clearLookups()
  }

  func beginPart() {
    for note in journal where note.slot < slots.count { slots[note.slot].isNoted = false }
    journal.removeAll(keepingCapacity: true)
  }

  func undoPart() {
    for note in journal {
      slots[note.slot].stored = note.stored
      if note.changed != nil { add(note.slot) }
      set(note.slot, note.changed, over: slots[note.slot].changed)
    }
    beginPart()
  }

  private func note(_ place: Int) {
    if slots[place].isNoted { return }
    slots[place].isNoted = true
    journal.append((place, slots[place].stored, slots[place].changed))
  }

  /// The position nearest to a mark among the changed records.
  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) -> String? { lists.position(side, mark, in: list, besides: id, changed) }

  /// The ids of the changed records that match an index value, in their order.
  func ids(_ lookup: ChangedIndex.Lookup, _ value: IndexValue) -> [String] {
    index.ids(lookup, value, among: changed)
  }
}
