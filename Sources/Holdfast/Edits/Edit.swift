import HoldfastSQLite

/// One row of `holdfast_edits`.
struct Edit: Equatable {
  enum Kind: String {
    case create, update, delete
    /// What the deletion of another record did to this one: it went as well, or lost its reference.
    case hidden, detached
    /// What stood where a record was created: the server's record of the same id.
    case covered
  }

  let n: Int64
  /// The first number of its change set; nil while it is loose.
  let changeSet: Int64?
  let kind: Kind
  let column: String
  let base: SQLiteValue
  let rev: Int64
  /// When it was made, by the device's clock in milliseconds since 1970.
  let at: Int64

  func with(base: SQLiteValue) -> Edit {
    Edit(n: n, changeSet: changeSet, kind: kind, column: column, base: base, rev: rev, at: at)
  }

  /// The rows of a deletion: one for the record, one for each column.
  static func deletion(of record: RecordState, like edit: Edit) -> [Edit] {
    let kind = edit.kind == .create ? .covered : edit.kind
    func row(_ column: String, _ base: SQLiteValue) -> Edit {
      Edit(
        n: edit.n, changeSet: edit.changeSet, kind: kind, column: column, base: base, rev: record.rev,
        at: edit.at)
    }
    return [row("", record.zone)] + record.values.sorted { $0.key < $1.key }.map { row($0.key, $0.value) }
  }
}
