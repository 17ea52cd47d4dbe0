import HoldfastCore

/// The records that a transaction has read, and what it makes of them: written in bulk, and rolled back in memory.
final class WorkingSet {
  typealias Key = Footprint.Key

  /// What is in the database.
  private(set) var stored: [Key: RecordEntry] = [:]
  /// What differs from it.
  private(set) var changed: [Key: RecordEntry] = [:]
  /// What has changed, found by zone, by reference and by unique value, and in the order of lists.
  private(set) var index: ChangedIndex
  private var lists: ChangedLists
  /// The changed records in the order in which they were changed first; some of them may be unchanged again.
  private var order: [Key] = []
  private var journal: [(key: Key, stored: RecordEntry?, changed: RecordEntry?)] = []
  private var noted: Set<Key> = []

  init(_ schema: SyncSchema) {
    index = ChangedIndex(schema)
    lists = ChangedLists(schema)
  }

  subscript(key: Key) -> RecordEntry? { changed[key] ?? stored[key] }

  /// Takes in what was read.
  func learn(_ key: Key, _ entry: RecordEntry) { stored[key] = entry }

  /// Clears all.
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

  /// Changes a record that is known.
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

  /// What is to be written, in the order in which it came.
  var delta: [ChangedRecord] {
    var seen: Set<Key> = []
    return order.compactMap { key in
      guard let entry = changed[key], seen.insert(key).inserted else { return nil }
      return ChangedRecord(key: key, before: stored[key], now: entry)
    }
  }

  /// All that has changed is in the database now.
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

  /// The position nearest to a mark among the records that have changed.
  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) -> String? { lists.position(side, mark, in: list, besides: id, changed) }

  /// The ids of the changed records that a look-up finds, in their order.
  func ids(_ lookup: ChangedIndex.Lookup, _ value: IndexValue) -> [String] {
    index.ids(lookup, value, among: changed)
  }
}
