// References into other zones. They must not keep a user from deleting a record, because the referring record may be private to another
// user.
extension SchemaCheck {
  /// The tables, with the default `onDelete` of each reference filled in.
  static func withDefaults(_ tables: [TableSchema]) -> [TableSchema] {
    tables.map { table in
      var table = table
      for (index, column) in table.columns.enumerated() {
        guard let reference = column.reference, reference.onDelete == nil else { continue }
        let onDelete: Reference.OnDelete =
          if !SyncSchema.isAcross(reference, of: table, in: tables) { .restrict } else {
            column.required ? .cascade : .setNull
          }
        table.columns[index].reference = Reference(
          to: reference.table, onDelete: onDelete, across: reference.across)
      }
      return table
    }
  }

  /// The faults of a reference that would keep members of another zone from deleting.
  func acrossFaults(_ column: ColumnSchema, of table: TableSchema, at place: String) -> [SchemaError.Fault] {
    guard let reference = column.reference, reference.onDelete == .restrict,
      SyncSchema.isAcross(reference, of: table, in: tables)
    else { return [] }
    let advice =
      column.required
      ? "write \"cascade\", or leave out \"required\" and write \"set_null\"."
      : "write \"set_null\" or \"cascade\"."
    return [
      .init(
        place,
        "The reference leads into another zone, whose members it would keep from deleting: \(advice)")
    ]
  }
}
