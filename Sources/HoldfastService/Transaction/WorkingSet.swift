import HoldfastCore

/// The records that a transaction has read, and their changes in memory. Changes are written in one batch, and rolled back in memory.
final class WorkingSet {
  typealias Key = Footprint.Key

  /// All that is known of one record.
  private final class Slot {
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

    init(_ key: Key) { self.key = key }
  }

  private var slots: [Key: Slot] = [:]
  /// The record that was asked for last: an operation asks for its own many times.
  private var last: Slot?
  /// Indexes of the changed records, by zone, reference and unique values.
  private(set) var index: ChangedIndex
  private var lists: ChangedLists
  /// How many records differ from the database.
  private(set) var changedCount = 0
  /// The changed records in the order of their first change. Records that are unchanged again may remain in it.
  private var order: [Slot] = []
  private var journal: [(slot: Slot, stored: RecordEntry?, changed: RecordEntry?)] = []
  private let members: Int?
  /// How many records of `members` each zone has more than in the database.
  private var growth: TextMap<Int> = [:]

  init(_ schema: SyncSchema) {
    members = schema.index(of: TableSchema.members.name)
    index = ChangedIndex(schema)
    lists = ChangedLists(schema)
  }

  subscript(key: Key) -> RecordEntry? { find(key).flatMap { $0.changed ?? $0.stored } }

  /// What is in the database of a record; nil where that was not read.
  func stored(_ key: Key) -> RecordEntry? { find(key)?.stored }

  /// What a record has become that has changed; nil for others.
  func changed(_ key: Key) -> RecordEntry? { find(key)?.changed }

  /// Whether a record has changed.
  func isChanged(_ key: Key) -> Bool { find(key)?.changed != nil }

  /// Whether there is neither a record nor a tombstone; nil where that was not read.
  func isNowhere(_ key: Key) -> Bool? {
    guard let slot = find(key) else { return nil }
    if slot.isNowhere { return true }
    return slot.changed == nil && slot.stored == nil ? nil : false
  }

  /// All records that have changed.
  var changed: some Sequence<(key: Key, value: RecordEntry)> {
    order.lazy.compactMap { slot in slot.changed.map { (key: slot.key, value: $0) } }
  }

  private func find(_ key: Key) -> Slot? {
    if let last, last.key == key { return last }
    guard let slot = slots[key] else { return nil }
    last = slot
    return slot
  }

  /// The slot of a record, made where there is none.
  private func slot(of key: Key) -> Slot {
    if let last, last.key == key { return last }
    let slot = Self.filled(&slots[key], key)
    last = slot
    return slot
  }

  private static func filled(_ slot: inout Slot?, _ key: Key) -> Slot {
    if let slot { return slot }
    let made = Slot(key)
    slot = made
    return made
  }

  /// Adds a record that was read.
  func learn(_ key: Key, _ entry: RecordEntry) {
    let slot = slot(of: key)
    count(slot, -1)
    slot.stored = entry
    count(slot, 1)
    slot.isNowhere = entry.isNowhere && slot.changed == nil
  }

  /// Clears everything.
  func removeAll() {
    slots.removeAll(keepingCapacity: true)
    last = nil
    clearLookups()
    beginPart()
  }

  private func clearLookups() {
    changedCount = 0
    growth = [:]
    order.removeAll(keepingCapacity: true)
    index.removeAll()
    lists.removeAll()
  }

  /// Changes a record that was read before.
  func change(_ key: Key, _ body: (inout RecordEntry) -> Void) {
    let slot = slot(of: key)
    note(slot)
    var entry = slot.changed ?? slot.stored ?? RecordEntry()
    body(&entry)
    add(slot)
    set(slot, entry)
  }

  private func set(_ slot: Slot, _ entry: RecordEntry?) {
    let before = slot.changed
    changedCount += (entry == nil ? 0 : 1) - (before == nil ? 0 : 1)
    count(slot, -1)
    slot.changed = entry
    count(slot, 1)
    slot.isNowhere = entry == nil && slot.stored?.isNowhere == true
    index.move(slot.key, from: before, to: entry)
    lists.put(slot.key, entry)
  }

  /// How many records of `members` a zone has more than in the database.
  func memberGrowth(of zone: String) -> Int { growth[zone] ?? 0 }

  /// Adds what a changed record of `members` makes of the numbers, or takes it back.
  private func count(_ slot: Slot, _ sign: Int) {
    guard slot.key.table == members, let changed = slot.changed else { return }
    if let zone = changed.home { growth[zone, default: 0] += sign }
    if let zone = slot.stored?.home { growth[zone, default: 0] -= sign }
  }

  private func add(_ slot: Slot) {
    if slot.isOrdered { return }
    slot.isOrdered = true
    order.append(slot)
  }

  /// The changes to write, in their order.
  var delta: [ChangedRecord] {
    order.compactMap { slot in
      slot.changed.map { ChangedRecord(key: slot.key, before: slot.stored, now: $0) }
    }
  }

  /// Marks all changes as written to the database.
  func settle() {
    for slot in order {
      slot.isOrdered = false
      guard let entry = slot.changed else { continue }
      note(slot)
      // The numbers are cleared below, with everything else that is about the changed records.
      slot.stored = entry
      slot.changed = nil
      slot.isNowhere = entry.isNowhere
    }
    clearLookups()
  }

  func beginPart() {
    for index in journal.indices { journal[index].slot.isNoted = false }
    journal.removeAll(keepingCapacity: true)
  }

  func undoPart() {
    for note in journal {
      count(note.slot, -1)
      note.slot.stored = note.stored
      count(note.slot, 1)
      if note.changed != nil { add(note.slot) }
      set(note.slot, note.changed)
    }
    beginPart()
  }

  private func note(_ slot: Slot) {
    if slot.isNoted { return }
    slot.isNoted = true
    journal.append((slot, slot.stored, slot.changed))
  }

  /// The position nearest to a mark among the changed records.
  func position(
    _ side: RecordList.Side, _ mark: String, in list: RecordList, besides id: String
  ) -> String? { lists.position(side, mark, in: list, besides: id, changed) }

  /// The ids of the changed records that match an index value, in their order.
  func ids(_ lookup: ChangedIndex.Lookup, _ value: IndexValue) -> [String] {
    index.ids(lookup, value, among: changed).sorted()
  }

  /// The same in no order: many may match, of which one is looked for.
  func unorderedIDs(_ lookup: ChangedIndex.Lookup, _ value: IndexValue) -> TextSet {
    index.ids(lookup, value, among: changed)
  }
}
