import HoldfastCore
import HoldfastSQLite

/// What a transaction made of records, as it is kept for its undo. See docs/UNDO.md.
struct UndoneChanges: ~Copyable {
  private var writer = JSONWriter(capacity: 512)
  private var isEmpty = true
  private var records = 0

  init() { writer.beginArray() }

  /// Whether they, or what undoes them, would be too large: then nothing can be undone, as what came before must not be taken for the last.
  var areTooMany: Bool { writer.count > UndoTable.size || records > SyncRequest.operationLimit }

  /// Adds what became of a record.
  ///
  /// - Parameters:
  ///   - record: with the edits of the transaction.
  ///   - now: the record after them; nil when it is gone.
  mutating func add(_ table: String, _ record: LooseRecord, now: RecordState?) {
    let before = RecordHistory(record.edits, current: now).base
    guard let change = UndoneRecord(table, record.id, from: before, to: now) else { return }
    records += 1
    if areTooMany { return }
    change.json.write(to: &writer)
    isEmpty = false
  }

  /// Their JSON; nil when there are none, or too many.
  consuming func finish() -> [UInt8]? {
    if isEmpty || areTooMany { return nil }
    writer.endArray()
    return writer.bytes
  }
}
