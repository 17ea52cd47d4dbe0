import HoldfastSQLite
import HoldfastService

/// Erases the data of a user other than records, in SQLite.
struct SQLiteErasure {
  /// Tables with data of devices, and their key columns.
  private static let ofDevices = [
    ("holdfast_acks", ["device", "zone"]), ("holdfast_refusals", ["device", "first"]),
    ("holdfast_requests", ["device", "request_id"]), ("holdfast_created", ["device", "request_id", "place"]),
  ]
  /// Tables with data of users: key columns, and the column with the user.
  private static let ofUsers = [
    ("holdfast_result_ids", ["user", "token_hash", "chunk"], "user"),
    ("holdfast_results", ["user", "token_hash"], "user"),
    ("holdfast_invitations", ["zone", "id"], "inviter"),
    ("holdfast_left", ["zone", "user"], "user"), ("holdfast_blocks", ["user", "blocked"], "user"),
    ("holdfast_blocks", ["user", "blocked"], "blocked"),
    ("holdfast_carried", ["user", "origin", "zone"], "user"),
  ]

  private let connection: SQLiteConnection

  init(on connection: SQLiteConnection) { self.connection = connection }

  func purgeRemains(of user: String) throws -> Purged {
    var purged = Purged()
    for (table, key) in Self.ofDevices {
      purged.remains += try purge(
        table, key, "holdfast_devices d JOIN \(table) t ON t.device = d.number WHERE d.user = ?", user,
        most: RetentionTerms.step - purged.remains)
    }
    for (table, key, column) in Self.ofUsers {
      purged.remains += try purge(
        table, key, "\(table) t WHERE t.\(column) = ?", user, most: RetentionTerms.step - purged.remains)
    }
    purged.hasMore = purged.remains > 0
    return purged
  }

  private func purge(_ table: String, _ key: [String], _ source: String, _ user: String, most: Int) throws
    -> Int
  {
    try connection.run(
      """
      DELETE FROM \(table) WHERE (\(key.joined(separator: ", "))) IN
      (SELECT \(key.map { "t." + $0 }.joined(separator: ", ")) FROM \(source) LIMIT ?)
      """, [.text(user), .integer(Int64(most))])
    return connection.changes
  }

  /// Completes the erasure if no data is left.
  func end(_ user: String) throws -> Purged {
    guard try purgeRemains(of: user).remains == 0,
      try connection.value("SELECT 1 FROM holdfast_access WHERE user = ? LIMIT 1", [.text(user)]) == nil,
      try connection.value("SELECT 1 FROM members WHERE user = ? LIMIT 1", [.text(user)]) == nil
    else { return Purged() }
    try connection.run(
      "UPDATE holdfast_accounts SET erasure = ? WHERE id = ? AND erasure = ?",
      [.integer(Erasure.done.rawValue), .text(user), .integer(Erasure.begun.rawValue)])
    return Purged(users: connection.changes)
  }
}
