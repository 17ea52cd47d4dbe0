import HoldfastCore

/// A snapshot of the server's database, as far as the model checks it.
struct ServerView: Sendable {
  /// The tombstone of a record that was deleted, or moved to another zone.
  struct Tombstone: Sendable {
    let key: RecordKey
    let zone: String
    let seq: Int64
    let rev: Int64
    /// The time of the deletion, in milliseconds since 1970.
    var at: Int64 = 0
    /// Whether the record is now in another zone.
    var isDeparture = false
  }

  /// A zone's counter, and its purge horizon.
  struct Zone: Sendable {
    let seq: Int64
    var purged: Int64 = 0
  }

  /// The tokens in the data of removed tables and columns.
  var kept: Set<Int> = []
  /// The live records.
  var tables: Tables = [:]
  /// The seq of each live record.
  var seqs: [RecordKey: Int64] = [:]
  var tombstones: [Tombstone] = []
  var zones: TextMap<Zone> = [:]
  /// By device number: the highest processed operation.
  var confirmed: [Int64: Int64] = [:]

  /// The zones of which a user is a member, directly or by a group, and the user's own.
  func zones(of user: String) -> TextSet {
    let own = TextSet(accepted.filter { $0.row["user"]?.string == user }.map(\.zone))
    let byGroup = accepted.filter { isLive(group: $0.row) && own.contains($0.row["group"]?.string ?? "") }
    return own.union(byGroup.map(\.zone)).union([user])
  }

  /// The users who may change the records of a zone.
  func writers(of zone: String) -> TextSet {
    var users: TextSet = [zone]
    for (_, row) in accepted where row.zone == zone && row["role"]?.string != "viewer" {
      if let user = row["user"]?.string { users.insert(user) }
      guard isLive(group: row) else { continue }
      let members = accepted.filter { $0.zone == row["group"]?.string }
      users.formUnion(members.compactMap { $0.row["user"]?.string })
    }
    return users
  }

  /// The memberships that wait for their user's consent: their records, and the users.
  var pending: [(key: RecordKey, user: String)] {
    tables.compactMap { key, row in
      guard key.table == "members", row["invited_by"] != nil, let user = row["user"]?.string else {
        return nil
      }
      return (key, user)
    }.sorted { $0.key < $1.key }
  }

  /// The accepted memberships, and the groups.
  private var accepted: [(zone: String, row: Row)] {
    tables.compactMap { key, row in
      guard key.table == "members", row["invited_by"] == nil, let zone = row.zone else { return nil }
      return (zone, row)
    }
  }

  /// Whether a membership is that of a group whose list exists.
  private func isLive(group row: Row) -> Bool {
    guard let group = row["group"]?.string else { return false }
    return tables[RecordKey(table: "lists", id: group)] != nil
  }
}
