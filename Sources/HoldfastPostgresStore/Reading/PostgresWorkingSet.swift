import HoldfastCore
import HoldfastService

/// The records that a transaction has read, and what it makes of them: written in bulk, and rolled back in memory.
package struct PostgresWorkingSet {
  typealias Key = Footprint.Key

  /// A row of the ledger.
  package struct Place: Equatable {
    enum State: Int64 {
      case live = 0
      case deleted = 1
      case departed = 2
    }
    var state: State
    var seq: Int64
    var rev: Int64
    var stamps: String?
    var stamp: Int64?
    var device: Int64?
    var deletedSeq: Int64?
    /// The bytes that the record is counted with in its zone; 0 of one that is not there.
    var size: Int64 = 0
  }

  /// One record: its rows of the ledger by zone, and its values while it lives.
  package struct Entry: Equatable {
    var places: TextMap<Place> = [:]
    var values: [Value]?

    /// The zone in which the record lives.
    var home: String? { places.first { $0.value.state == .live }?.key }
  }

  /// What is in the database.
  private(set) var stored: [Key: Entry] = [:]
  /// What differs from it.
  private(set) var changed: [Key: Entry] = [:]
  /// Counts what is done to the changed records.
  private(set) var version = 0
  private var journal: [(key: Key, stored: Entry?, changed: Entry?)] = []
  private var noted: Set<Key> = []

  subscript(key: Key) -> Entry? { changed[key] ?? stored[key] }

  /// Takes in what was read.
  mutating func learn(_ key: Key, _ entry: Entry) { stored[key] = entry }

  /// Clears all.
  mutating func removeAll() {
    version += 1
    stored.removeAll(keepingCapacity: true)
    changed.removeAll(keepingCapacity: true)
    beginPart()
  }

  /// Changes a record that is known.
  mutating func change(_ key: Key, _ body: (inout Entry) -> Void) {
    note(key)
    version += 1
    var entry = self[key] ?? Entry()
    body(&entry)
    changed[key] = entry
  }

  /// All that has changed is in the database now.
  mutating func settle() {
    version += 1
    for (key, entry) in changed {
      note(key)
      stored[key] = entry
    }
    changed.removeAll(keepingCapacity: true)
  }

  mutating func beginPart() {
    journal.removeAll(keepingCapacity: true)
    noted.removeAll(keepingCapacity: true)
  }

  mutating func undoPart() {
    version += 1
    for note in journal {
      stored[note.key] = note.stored
      changed[note.key] = note.changed
    }
    beginPart()
  }

  private mutating func note(_ key: Key) {
    if noted.insert(key).inserted { journal.append((key, stored[key], changed[key])) }
  }
}
