import HoldfastPostgres
import HoldfastService

/// Erases the data of a user other than records, in PostgreSQL.
struct PostgresErasure {
  /// Finds a device of the user with data in a table; one statement per table.
  private static let findDevices = ["acks", "refusals", "requests", "created"].map { table in
    PostgresStatement(
      """
      SELECT t.device FROM holdfast.devices d JOIN holdfast.\(table) t ON t.device = d.number WHERE d.account = $1 LIMIT 1
      """)
  }
  private static let dropRefusals: PostgresStatement =
    "DELETE FROM holdfast.refusals WHERE device = $1 RETURNING first"
  private static let dropRequests: PostgresStatement =
    "DELETE FROM holdfast.requests WHERE device = $1 RETURNING number"
  private static let findCreated: PostgresStatement =
    "SELECT c.request_id FROM holdfast.created c WHERE c.device = $1 ORDER BY c.request_id LIMIT $2"
  private static let dropCreated: PostgresStatement =
    "DELETE FROM holdfast.created WHERE device = $1 AND request_id <= $2"
  private static let dropResultIDs: PostgresStatement =
    "DELETE FROM holdfast.result_ids WHERE account = $1 RETURNING chunk"
  private static let dropResults: PostgresStatement =
    "DELETE FROM holdfast.results WHERE account = $1 RETURNING expires"
  private static let dropInvitations: PostgresStatement = """
    DELETE FROM holdfast.invitations WHERE (zone, id) IN (
      SELECT i.zone, i.id FROM holdfast.invitations i WHERE i.inviter = $1 LIMIT $2) RETURNING id
    """
  private static let dropDepartures: PostgresStatement = """
    DELETE FROM holdfast.departures WHERE "user" = $1 AND zone IN (
      SELECT l.zone FROM holdfast.departures l WHERE l."user" = $1 LIMIT $2) RETURNING zone
    """
  private static let dropCarried: PostgresStatement = """
    DELETE FROM holdfast.carried WHERE account = $1 AND (origin, zone) IN (
      SELECT c.origin, c.zone FROM holdfast.carried c WHERE c.account = $1 LIMIT $2) RETURNING zone
    """
  private static let dropBlocks: PostgresStatement =
    "DELETE FROM holdfast.blocks WHERE account = $1 OR blocked = $1 RETURNING account"
  private static let findMember: PostgresStatement =
    "SELECT m.id FROM holdfast.members m WHERE m.\"user\" = $1 LIMIT 1"
  private static let findAccess: PostgresStatement =
    "SELECT m.zone FROM holdfast.access m WHERE m.\"user\" = $1 LIMIT 1"
  private static let setEnded: PostgresStatement =
    "UPDATE holdfast.accounts SET erasure = $2 WHERE id = $1 AND erasure = $3 RETURNING id"

  let connection: PostgresConnection

  /// Purges part of the data. A device's answers and refusals are bounded, so all of them are purged at once.
  func purgeRemains(of user: String) throws -> Purged {
    let devices = try connection.pipeline { pipe in
      for statement in Self.findDevices { pipe.send(statement, PostgresParameters(user)) }
    }
    var count = 0
    if let found = devices.first(where: { !$0.isEmpty }) {
      count += try purgeRemains(ofDevice: found.int64(0, 0))
    }
    let gone = try connection.pipeline { pipe in
      for statement in [Self.dropInvitations, Self.dropDepartures, Self.dropCarried] {
        pipe.send(statement, PostgresParameters(user, Int64(RetentionTerms.step)))
      }
      for statement in [Self.dropResultIDs, Self.dropResults, Self.dropBlocks] {
        pipe.send(statement, PostgresParameters(user))
      }
    }
    count += gone.reduce(0) { $0 + $1.count }
    return Purged(remains: count, hasMore: count > 0)
  }

  private func purgeRemains(ofDevice device: Int64) throws -> Int {
    let limit = Int64(RetentionTerms.step)
    let zones = try connection.query(
      PostgresPurgeStatements.findAcks, PostgresParameters(device, limit)
    ).texts
    let created = try connection.query(Self.findCreated, PostgresParameters(device, limit)).texts
    let gone = try connection.pipeline { pipe in
      pipe.send(Self.dropRefusals, PostgresParameters(device))
      pipe.send(Self.dropRequests, PostgresParameters(device))
      if let last = zones.last {
        pipe.send(PostgresPurgeStatements.dropAcks, PostgresParameters(device, last))
      }
      if let last = created.last { pipe.send(Self.dropCreated, PostgresParameters(device, last)) }
    }
    return gone[0].count + gone[1].count + zones.count + created.count
  }

  /// Completes the erasure if no data is left.
  func end(_ user: String) throws -> Purged {
    guard try purgeRemains(of: user).remains == 0,
      try connection.query(Self.findAccess, PostgresParameters(user)).isEmpty,
      try connection.query(Self.findMember, PostgresParameters(user)).isEmpty
    else { return Purged() }
    let ended = try connection.query(
      Self.setEnded, PostgresParameters(user, Erasure.done.rawValue, Erasure.begun.rawValue))
    return Purged(users: ended.count)
  }
}
