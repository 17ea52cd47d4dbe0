import HoldfastCore
import HoldfastSQLite

/// The loose edits of one record, in order: those that are in no change set yet.
struct LooseRecord {
  let table: Int
  let id: String
  var at: Int64
  /// What happened to the record as a whole, in order.
  var lives: [RecordOperation.Kind] = []
  /// Rev of a deletion.
  var rev: Int64 = 0
  /// The columns updated, with the rev they were based on, and the base of their first edit here.
  var updates: [(column: Int, rev: Int64, base: Value)] = []
  /// All of them.
  private(set) var edits: [Edit] = []

  /// Whether the record was there before, and is there again.
  var isRecreated: Bool { lives.first == .delete && lives.last == .create }

  /// The number of the edit that deleted it; nil when it is there.
  var deletion: Int64? {
    lives.last == .delete ? edits.last { $0.kind == .delete && $0.column.isEmpty }?.n : nil
  }

  /// Adds the next edit.
  ///
  /// - Parameter column: its column; nil for the record as a whole, and for one that the schema does not have.
  mutating func add(_ edit: Edit, _ column: Int?) {
    edits.append(edit)
    at = edit.at
    switch edit.kind {
    case .create: lives.append(.create)
    case .delete:
      if edit.column.isEmpty {
        lives.append(.delete)
        rev = edit.rev
      }
    case .covered: return
    case .update, .hidden, .detached:
      if let column, !updates.contains(where: { $0.column == column }) {
        updates.append((column, edit.rev, Value(edit.base)))
      }
    }
  }
}
