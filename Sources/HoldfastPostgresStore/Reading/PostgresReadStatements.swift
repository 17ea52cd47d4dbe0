import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements of a reader that do not depend on the schema.
enum PostgresReadStatements {
  /// A device with its refusals, one row each. One statement reads both from one snapshot.
  static let findDevices = PostgresStatement(
    devices("d.token_hash = ANY ($1)", by: "d.number, r.first"))

  static func devices(_ condition: String, by order: String) -> String {
    """
    SELECT \(KnownDevice.columnsSQL), d.token_hash
    FROM holdfast.devices d LEFT JOIN holdfast.refusals r ON r.device = d.number
    WHERE \(condition) ORDER BY \(order)
    """
  }

  /// The current snapshot, for a database with this expression for its timeline.
  ///
  /// After a crash the number of a transaction whose end was not written is given out again, and so are those that a promoted standby lacks. Both
  /// end all server processes, but not the connection of a pooler: what it reads is of one of them. A PostgreSQL that has started again may give
  /// their numbers out again as well.
  static func snapshot(isPooled: Bool, timeline: String?) -> String {
    if !isPooled { return "pg_current_snapshot()::text" }
    let process = "pg_backend_pid(), ' ', pg_postmaster_start_time()"
    return "concat(pg_current_snapshot()::text, ' ', \(process)\(timeline.map { ", ' ', \($0)" } ?? ""))"
  }
  static let findZonesToNotify: PostgresStatement = """
    SELECT z.zone, z.seq, z.public, (SELECT string_agg(m."user", ' ') FROM holdfast.access m WHERE m.zone = z.zone)
    FROM holdfast.zones z WHERE z.zone = ANY ($1) ORDER BY z.zone
    """
  static let findUnnotified: PostgresStatement = """
    SELECT z.zone FROM holdfast.zones z LEFT JOIN holdfast.notified t ON t.zone = z.zone
    WHERE z.zone > $1 AND z.seq > coalesce(t.seq, 0) ORDER BY z.zone LIMIT $2
    """

  static let findClaims: PostgresStatement =
    "SELECT c.zone, c.device, c.state, c.proven FROM holdfast.zone_claims c WHERE c.account = $1"
  static let findRestored: PostgresStatement =
    "SELECT z.zone, z.restored, z.purged FROM holdfast.zones z WHERE z.zone = ANY ($1)"
  static let findPlaces: PostgresStatement = """
    SELECT z.zone, z.left_for, coalesce(m.number, 0), coalesce(m.state, 0)
    FROM holdfast.zones z LEFT JOIN holdfast.moves m ON m.zone = z.zone
    WHERE z.zone = ANY ($1)
    """
  static let findUser: PostgresStatement = """
    SELECT a.id, a.name, i.issuer FROM holdfast.accounts a LEFT JOIN holdfast.identities i ON i.account = a.id
    WHERE a.name = $1 AND a.erasure = 0 LIMIT 1
    """
  static let findTicket: PostgresStatement =
    "SELECT number FROM holdfast.devices WHERE ticket_hash = $1 AND ticket_until > $2"
  static let findAccountOfID: PostgresStatement =
    "SELECT name, password FROM holdfast.accounts WHERE id = $1 AND erasure = 0"
  static let listDevices = PostgresStatement(
    """
    SELECT d.number, d.id, d.name, d.seen_at, \(KnownDevice.hasSession), p.kind, p.token
    FROM holdfast.devices d LEFT JOIN holdfast.push_tokens p ON p.device = d.number
    WHERE d.account = $1 ORDER BY d.seen_at DESC, d.number DESC LIMIT $2
    """)
  /// How far devices are behind: all devices, or those of the user `$1`.
  static let findLag: PostgresStatement = """
    SELECT d.id, d.name, d.seen_at, d.app, d.app_schema, count(z.zone), count(*) FILTER (WHERE z.seq > a.seq),
      coalesce(sum(z.seq - a.seq) FILTER (WHERE z.seq > a.seq), 0)::bigint FROM holdfast.devices d
    LEFT JOIN holdfast.acks a ON a.device = d.number LEFT JOIN holdfast.zones z ON z.zone = a.zone
    WHERE d.account = coalesce($1, d.account) GROUP BY d.number ORDER BY d.number
    """
  static let findPushTargets: PostgresStatement = """
    SELECT p.device, d.id, d.account, NULL::text, p.kind, p.token FROM holdfast.devices d
    JOIN holdfast.push_tokens p ON p.device = d.number
    WHERE d.account = ANY ($1) AND d.number > $2 ORDER BY d.number LIMIT $3
    """
  static let findFollowers: PostgresStatement = """
    SELECT p.device, d.id, d.account, a.zone, p.kind, p.token FROM holdfast.acks a
    JOIN holdfast.push_tokens p ON p.device = a.device JOIN holdfast.devices d ON d.number = a.device
    WHERE a.zone = ANY ($1) AND a.device > $2 ORDER BY a.device LIMIT $3
    """
  static let findAccount: PostgresStatement =
    "SELECT id, password FROM holdfast.accounts WHERE name = $1"
  /// The zones of devices. With `OFFSET 0` each ack is looked up by its key: as a join, planned while there were few acks, it would compare all
  /// zones of a device with all its acks.
  static let findZones: PostgresStatement = """
    SELECT a.zone, a.epoch, a.seq, coalesce(z.seq, 0), coalesce(z.purged, 0),
      coalesce(m.role, CASE WHEN z.public THEN 'viewer' END, ''), a.lost, true, a.purged, d.number
    FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number
    LEFT JOIN holdfast.zones z ON z.zone = a.zone
    LEFT JOIN holdfast.access m ON m.zone = a.zone AND m."user" = d.account WHERE d.token_hash = ANY ($1)
    UNION ALL
    SELECT m.zone, '', 0, z.seq, z.purged, m.role, false, false, 0, d.number
    FROM holdfast.devices d JOIN holdfast.access m ON m."user" = d.account
    JOIN holdfast.zones z ON z.zone = m.zone WHERE d.token_hash = ANY ($1)
    AND NOT EXISTS (SELECT 1 FROM holdfast.acks a WHERE a.device = d.number AND a.zone = m.zone OFFSET 0)
    """
  static let findFollowed: PostgresStatement = """
    SELECT a.zone FROM holdfast.acks a JOIN holdfast.zones z ON z.zone = a.zone AND z.public
    WHERE a.device = $1 AND a.zone = ANY ($2)
    """
  static let findMemberships: PostgresStatement = """
    SELECT m.zone, z.seq, z.purged, m.role FROM holdfast.access m JOIN holdfast.zones z ON z.zone = m.zone
    WHERE m."user" = $1
    """

  /// The snapshot in the rows of `findHistory` or `findSnapshot`.
  static func snapshot(in rows: PostgresRows) -> String {
    rows.indices.first { rows.text($0, 0) == "snapshot" }.map { rows.text($0, 1) } ?? ""
  }

  /// The devices from the rows of `findDevices` and `findZones`, which were read in a state. Unknown tokens have no device.
  ///
  /// - Parameter tokens: the requested tokens, by their bytes.
  static func found(
    _ tokens: [[UInt8]: TokenHash], _ devices: PostgresRows, _ zones: PostgresRows, _ history: History,
    in state: SnapshotState
  ) throws -> [TokenHash: PostgresFindings.Found] {
    var found: [TokenHash: PostgresFindings.Found] = [:]
    for token in tokens.values { found[token] = .init(state: state, history: history) }
    var tokensByNumber: [Int64: TokenHash] = [:]
    for row in devices.indices {
      guard let token = tokens[devices.bytes(row, KnownDevice.columnCount)] else { continue }
      if found[token]?.device == nil { found[token]?.device = try KnownDevice(devices, row, token) }
      if let refusal = StoredRefusal(devices, row) { found[token]?.refusals.append(refusal) }
      tokensByNumber[devices.int64(row, 0)] = token
    }
    for row in zones.indices {
      if let token = tokensByNumber[zones.int64(row, 9)] {
        found[token]?.zones.append(ZoneProgress(zones, row))
      }
    }
    for (token, device) in found {
      found[token]?.waiting = ZoneProgress.waiting(device.zones, epoch: history.epoch)
    }
    return found
  }
}
