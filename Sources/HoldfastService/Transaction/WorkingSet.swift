import HoldfastCore

/// The records that a transaction has read, and their changes in memory. Changes are written in one batch, and rolled back in memory.
final class WorkingSet {
  typealias Key = Footprint.Key

  /// The stored state of records.
  private(set) var stored: [Key: RecordEntry] = [:]
  /// The records that differ from their stored state.
  private(set) var changed: [Key: RecordEntry] = [:]
  /// Indexes of the changed records, by zone, reference and unique values.
  private(set) var index: ChangedIndex
  private var lists: ChangedLists
  /// The changed records in the order of their first change. Records that are unchanged again may remain in it.
  private var order: [Key] = []
  private var journal: [(key: Key, stored: RecordEntry?, changed: RecordEntry?)] = []
  private var noted: Set<Key> = []

  init(_ schema: SyncSchema) {
    index = ChangedIndex(schema)
    lists = ChangedLists(schema)
  }

  subscript(key: Key) -> RecordEntry? { changed[key] ?? stored[key] }

  /// Adds a record that was read.
  func learn(_ key: Key, _ entry: RecordEntry) { stored[key] = entry }

  /// Clears everything.
  func removeAll() {
    stored.removeAll(keepingCapacity: true)
    clearChanged()
    beginPart()
  }

  private func clearChanged() {
    changed.removeAll(keepingCapacity: true)
    order.removeAll(keepingCapacity: true)
    index.removeAll()
    lists.removeAll()
  }

  /// Changes a record that was read before.
  func change(_ key: Key, _ body: (inout RecordEntry) -> Void) {
    note(key)
    let before = changed[key]
    var entry = before ?? stored[key] ?? RecordEntry()
    body(&entry)
    if before == nil { order.append(key) }
    set(key, entry, over: before)
  }

  private func set(_ key: Key, _ entry: RecordEntry?, over before: RecordEntry?) {
    changed[key] = entry
    index.move(key, from: before, to: entry)
    lists.put(key, entry)
  }

  /// The changes to write, in their order.
  var delta: [ChangedRecord] {
    var seen: Set<Key> = []
    return order.compactMap { key in
      guard let entry = changed[key], seen.insert(key).inserted else { return nil }
      return ChangedRecord(key: key, before: stored[key], now: entry)
    }
  }

  /// Marks all changes as written to the database.
  func settle() {
    for (key, entry) in changed {
      note(key)
      stored[key] = entry
    }
    clearChanged()
  }

  func beginPart() {
    journal.removeAll(keepingCapacity: true)
    noted.removeAll(keepingCapacity: true)
  }

  func undoPart() {
    for note in journal {
      stored[note.key] = note.stored
      let now = changed[note.key]
      if now == nil, note.changed != nil { order.append(note.key) }
      set(note.key, note.changed, over: now)
    }
    beginPart()
  }

  private func note(_ key: Key) {
    if noted.insert(key).inserted { journal.append((key, stored[key], changed[key])) }
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
