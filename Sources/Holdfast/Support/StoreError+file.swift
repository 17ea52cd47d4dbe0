import HoldfastSQLite

extension StoreError {
  /// What a person is told when a transaction can't be had, or not on the file that was opened; nil for any other error.
  init?(ofFile error: SQLiteError) {
    switch error.code {
    case .readOnlyMoved:
      self.init(
        .fileReplaced,
        "The database file, or its -wal or -shm, was moved, replaced or deleted while this program had it open. Nothing was written. Put back what was moved, and open the file again."
      )
    case let code where code.primary == .busy:
      self.init(
        .busy,
        "Another program holds the database for writing. Nothing was written. End its transaction, or wait for it, and then try again."
      )
    default: return nil
    }
  }
}
