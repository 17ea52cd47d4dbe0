import HoldfastPostgres

extension PostgresError {
  /// Whether the database can't be had now, and may be later. What a server says while a connection is made is that too: that it
  /// starts, stops or recovers, and what an operator has to put right.
  ///
  /// A table or column that is not there has another name since another node was started with a newer schema: this one is to be started again.
  /// In a function of the team's it is the team's mistake.
  var isUnavailability: Bool {
    isConnectionLost || action == .connecting || action == .borrowing || code == .readOnlyTransaction
      || ["08", "53", "57", "58", "72"].contains(code.classCode) || isDamage
      || context == nil && (code == .undefinedTable || code == .undefinedColumn)
  }

  private var isDamage: Bool { code.rawValue == "XX001" || code.rawValue == "XX002" }
}
