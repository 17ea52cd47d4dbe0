import HoldfastPostgres

extension PostgresError {
  /// Whether the database is unavailable now and may be available later. This includes every error while connecting: the server starts,
  /// stops or recovers, or an operator must change its settings.
  ///
  /// An undefined table or column means that another node has migrated to a newer schema, and this node must be restarted. Inside a team's
  /// function, such an error is the team's mistake instead.
  var isUnavailability: Bool {
    isConnectionLost || action == .connecting || action == .borrowing || code == .readOnlyTransaction
      || ["08", "53", "57", "58", "72"].contains(code.classCode) || isDamage
      || context == nil && (code == .undefinedTable || code == .undefinedColumn)
  }

  private var isDamage: Bool { code.rawValue == "XX001" || code.rawValue == "XX002" }
}
