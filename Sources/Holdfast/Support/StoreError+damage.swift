import HoldfastSQLite

extension SQLiteError {
  /// Whether SQLite has met something in the file that it can't have written.
  var isDamage: Bool { code.primary == .corrupt || code.primary == .notADatabase }
}

extension StoreError {
  static func damaged(_ error: SQLiteError) -> StoreError {
    StoreError(
      .databaseIsBroken,
      "The file is damaged (\(error.code)). Call repair(); if that fails, move the file away, open a new one, sign in, and call rescue(from:) with the old one."
    )
  }
}
