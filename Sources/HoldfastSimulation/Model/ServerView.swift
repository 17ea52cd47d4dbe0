/// All of the server's database that the model looks at, at one moment.
struct ServerView: Sendable {
  /// What stays of a record that was deleted, or went to another zone.
  struct Tombstone: Sendable {
    let key: RecordKey
    let zone: String
    let seq: Int64
    let rev: Int64
    /// When the record went, in milliseconds since 1970.
    var at: Int64 = 0
    /// Whether the record lives on in another zone.
    var isDeparture = false
  }

  /// A zone's counter, and up to where its tombstones were purged.
  struct Zone: Sendable {
    let seq: Int64
    var purged: Int64 = 0
  }

  /// The live records.
  var tables: Tables = [:]
  /// The seq of each live record.
  var seqs: [RecordKey: Int64] = [:]
  var tombstones: [Tombstone] = []
  var zones: [String: Zone] = [:]
  /// For each device's number the highest operation that was dealt with.
  var confirmed: [Int64: Int64] = [:]

  /// The zones of which a user is a member, and the user's own.
  func zones(of user: String) -> Set<String> {
    var zones: Set<String> = [user]
    for (key, row) in tables where key.table == "members" && row["user"]?.string == user {
      if let zone = row.zone { zones.insert(zone) }
    }
    return zones
  }
}
