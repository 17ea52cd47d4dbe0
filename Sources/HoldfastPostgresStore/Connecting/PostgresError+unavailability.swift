import HoldfastPostgres

extension PostgresError {
  /// Whether the database is unavailable now and may be available later. This includes every error while connecting: the server starts,
  /// stops or recovers, or an operator must change its settings.
  var isUnavailability: Bool { isOutage || isMisfit }

  /// Whether the server's own statement does not fit the database, whatever its values are: another node has migrated to a newer schema, and
  /// this node must be restarted; or somebody has changed a type, or dropped a function. Inside a team's function, such an error is the team's
  /// mistake instead.
  var isMisfit: Bool {
    severity != nil && context == nil && !isOutage
      && (action == .preparing || ["0A", "26", "3F", "42"].contains(code.classCode))
  }

  private var isOutage: Bool {
    isConnectionLost || action == .connecting || action == .borrowing || code == .readOnlyTransaction
      || ["08", "53", "57", "58", "72"].contains(code.classCode) || isDamage
  }

  private var isDamage: Bool { code.rawValue == "XX001" || code.rawValue == "XX002" }
}
