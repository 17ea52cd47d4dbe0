import HoldfastCore
import HoldfastSQLite

/// Takes the records of another database into a store, as ordinary edits.
///
/// Records may come in any order: one that refers to another waits for it.
package struct RecordImport {
  private let store: Store
  private let namespace: String
  private let isUpdating: Bool
  private var report = ImportReport()
  /// Records that refer to others that are not in the store yet.
  private var waiting: [ImportedRecord] = []
  /// Records of tables with positions: the order of all of them decides where each one is placed.
  private var ordered: [ImportedRecord] = []

  /// The keys of this import that are UUIDs, by their tables and ids. Keys that differ in capital letters have the same id.
  private var keys: TextMap<String> = [:]

  /// References that records came without, as what they name was not there yet.
  private var late: [ImportWriting.LateReference] = []

  /// How many records one transaction writes.
  private static let batch = 500

  /// An import.
  ///
  /// - Parameters:
  ///   - namespace: tells this database's keys from those of others, when ids are derived from them.
  ///   - isUpdating: whether records that are in the store get the values of the other database.
  package init(into store: Store, namespace: String, isUpdating: Bool) {
    self.store = store
    self.namespace = namespace
    self.isUpdating = isUpdating
  }

  /// Imports records, as far as those that they refer to are in the store.
  ///
  /// - Throws: `StoreError` and `SQLiteError` that no other record would escape, such as a full disk.
  package mutating func add(_ records: [ImportedRecord]) async throws {
    let schema = store.schema
    let records = claim(records)
    let isOrdered = { (record: ImportedRecord) in
      schema.table(record.table)?.columns.contains { column in
        column.type == .position && !ImportPlacing.isPosition(record.columns[column.name] ?? .null)
      } ?? false
    }
    ordered += records.filter(isOrdered)
    try await write(records.filter { !isOrdered($0) }, .all)
  }

  /// Notes the keys of records.
  ///
  /// - Returns: the records without those whose id a record with another key has.
  private mutating func claim(_ records: [ImportedRecord]) -> [ImportedRecord] {
    var claimed: [ImportedRecord] = []
    for record in records {
      let id = record.key.lowercased()
      let place = "\(record.table) \(id)"
      guard Identifier.isUUID(id), let other = keys[place], other != record.key else {
        if Identifier.isUUID(id), !record.isDeleted { keys[place] = record.key }
        claimed.append(record)
        continue
      }
      // A record of another key is not the one that was deleted.
      if record.isDeleted { continue }
      leaveOut(
        record,
        "Its id is that of the record \(other): ids have small letters only. Give one of them another key.")
    }
    return claimed
  }

  /// Imports what waits.
  ///
  /// - Returns: what came of all records.
  package mutating func finish() async throws -> ImportReport {
    waiting += try await store.read { [ordered, namespace] database in
      try ImportPlacing(database: database, namespace: namespace).placed(ordered)
    }
    ordered = []
    for patience in ImportWriting.Patience.allCases {
      var count = waiting.count + 1
      while waiting.count < count, !waiting.isEmpty {
        count = waiting.count
        let records = waiting
        waiting = []
        try await write(records, patience)
      }
    }
    try await setLateReferences()
    return report
  }

  /// Sets the references that records came without, where the records that they name have come since.
  private mutating func setLateReferences() async throws {
    try await inBatches(
      late, { try await $0.setTogether($1) }, refused: { $0.lack($1.record, $2) })
    late = []
  }

  private mutating func setTogether(_ references: [ImportWriting.LateReference]) async throws {
    let areSet = try await store.write { [namespace, isUpdating] database in
      let writing = ImportWriting(
        database, namespace: namespace, isUpdating: isUpdating, patience: .none)
      return try references.map { try writing.set($0) }
    }
    for (reference, isSet) in zip(references, areSet) where !isSet {
      lack(reference.record, reference.reason)
    }
  }

  private mutating func write(_ records: [ImportedRecord], _ patience: ImportWriting.Patience) async throws {
    try await inBatches(
      records, { try await $0.writeTogether($1, patience) }, refused: { $0.leaveOut($1, $2) })
  }

  /// Writes many, some at a time. Where one of them is at fault, each is written by itself.
  ///
  /// - Parameter refused: gets what could not be written, and the reason.
  private mutating func inBatches<Item>(
    _ items: [Item], _ write: (inout Self, [Item]) async throws -> Void,
    refused: (inout Self, Item, String) -> Void
  ) async throws {
    var rest = items[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batch))
      rest = rest.dropFirst(Self.batch)
      do { try await write(&self, batch) } catch  where Self.isOfOneRecord(error) {
        for item in batch {
          do { try await write(&self, [item]) } catch  where Self.isOfOneRecord(error) {
            refused(&self, item, (error as? Problem)?.detail ?? "\(error)")
          }
        }
      }
    }
  }

  private mutating func writeTogether(_ records: [ImportedRecord], _ patience: ImportWriting.Patience)
    async throws
  {
    let (outcomes, losses, references) = try await store.write { [namespace, isUpdating] database in
      var writing = ImportWriting(
        database, namespace: namespace, isUpdating: isUpdating, patience: patience)
      let outcomes = try records.map { try writing.write($0) }
      return (outcomes, writing.losses, writing.late)
    }
    late += references
    for (record, outcome) in zip(records, outcomes) {
      switch outcome {
      case .created: report.created += 1
      case .updated: report.updated += 1
      case .kept: report.kept += 1
      case .deleted: report.deleted += 1
      case .absent: break
      case .waits: waiting.append(record)
      case .leftOut(let reason): leaveOut(record, reason)
      }
    }
    for (record, reason) in losses { lack(record, reason) }
  }

  private mutating func lack(_ record: ImportedRecord, _ reason: String) {
    report.problems.append(.init(table: record.table, key: record.key, isLeftOut: false, reason: reason))
  }

  private mutating func leaveOut(_ record: ImportedRecord, _ reason: String) {
    report.problems.append(.init(table: record.table, key: record.key, isLeftOut: true, reason: reason))
  }

  /// Whether an error is the fault of a record, so that the others can be written without it.
  private static func isOfOneRecord(_ error: any Error) -> Bool {
    switch error {
    case is Problem: true
    case let error as StoreError: [.valueUnfit, .uniqueTaken, .changeSetTooLarge].contains(error.code)
    case let error as SQLiteError: error.code.primary == .constraint
    default: false
    }
  }
}
