import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The console's queries in PostgreSQL.
final class PostgresConsoleReader: ConsoleReader {
  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  func rows(_ query: ConsoleQuery) throws -> [[String?]] {
    switch query {
    case .usersByName(let prefix, let after, let limit):
      try rows(Self.usersByName, PostgresParameters(prefix, after, Int64(limit)))
    case .users(let ids): try rows(Self.users, Self.list(ids))
    case .devices(let after, let limit): try rows(Self.devices, PostgresParameters(after, Int64(limit)))
    case .devicesOfUsers(let users, let after, let limit):
      try rows(Self.devicesOfUsers, Self.list(users, after, Int64(limit)))
    case .device(let id): try rows(Self.device, PostgresParameters(id))
    case .devicesByNumber(let numbers): try rows(Self.devicesByNumber, Self.list(numbers))
    case .acks(let devices, let limit): try rows(Self.acks, Self.list(devices, Int64(limit)))
    case .acksOfDevice(let device, let after, let limit):
      try rows(Self.acksOfDevice, PostgresParameters(device, after, Int64(limit)))
    case .ack(let device, let zone): try rows(Self.ack, PostgresParameters(device, zone))
    case .acksOfZone(let zone, let epoch, let limit):
      try rows(Self.acksOfZone, PostgresParameters(zone, epoch, Int64(limit)))
    case .zonesByName(let prefix, let after, let limit):
      try rows(Self.zonesByName, PostgresParameters(prefix, after, Int64(limit)))
    case .zones(let names): try rows(Self.zones, Self.list(names))
    case .accessToZone(let zone, let after, let limit):
      try rows(Self.accessToZone, PostgresParameters(zone, after, Int64(limit)))
    case .accessOfUser(let user, let after, let limit):
      try rows(Self.accessOfUser, PostgresParameters(user, after, Int64(limit)))
    case .role(let user, let zone): try rows(Self.role, PostgresParameters(user, zone))
    case .refusals(let device, let first, let limit):
      try rows(Self.refusals, PostgresParameters(device, first, Int64(limit)))
    case .refusalsOfDevice(let device, let limit):
      try rows(Self.refusalsOfDevice, PostgresParameters(device, Int64(limit)))
    case .places(let record, let limit): try rows(Self.places, PostgresParameters(record, Int64(limit)))
    case .conflicts(let before, let limit):
      try rows(Self.conflicts, PostgresParameters(before, Int64(limit)))
    case .conflictsOfRecord(let record, let limit):
      try rows(Self.conflictsOfRecord, PostgresParameters(record, Int64(limit)))
    case .audit(let before, let action, let limit):
      try rows(Self.audit, PostgresParameters(before, action, Int64(limit)))
    case .samples(let node, let span, let from, let limit):
      try rows(Self.samples, PostgresParameters(node, span.rawValue, from, Int64(limit)))
    case .sampledNodes(let limit): try rows(Self.sampledNodes, PostgresParameters(Int64(limit)))
    }
  }

  private static func list<Element: PostgresValue>(
    _ elements: [Element], _ more: Int64...
  ) -> PostgresParameters {
    var parameters = PostgresParameters()
    parameters.append(array: elements)
    for number in more { parameters.append(number) }
    return parameters
  }

  private func rows(_ statement: PostgresStatement, _ parameters: PostgresParameters) throws -> [[String?]] {
    let rows = try connection.query(statement, parameters)
    return rows.indices.map { row in (0..<rows.columnCount).map { rows.optionalText(row, $0) } }
  }
}

/// The statements: made once, as a connection keeps each prepared.
extension PostgresConsoleReader {
  private static let usersByName = accounts(
    "name >= $1 AND name < $1 || chr(1114111) AND name > $2 ORDER BY name LIMIT $3")
  private static let users = accounts("id = ANY ($1)")
  private static let devices = devices("d.number > $1 ORDER BY d.number LIMIT $2")
  private static let devicesOfUsers = devices(
    "d.account = ANY ($1) AND d.number > $2 ORDER BY d.number LIMIT $3")
  private static let device = devices("d.id = $1")
  private static let devicesByNumber = devices("d.number = ANY ($1)")
  private static let acks = acks("a.device = ANY ($1) ORDER BY a.device, a.zone LIMIT $2")
  private static let acksOfDevice = acks("a.device = $1 AND a.zone > $2 ORDER BY a.zone LIMIT $3")
  private static let ack = acks("a.device = $1 AND a.zone = $2")
  private static let acksOfZone = acks(
    "a.zone = $1 AND a.epoch = $2 AND NOT a.lost ORDER BY greatest(a.seq, a.purged), a.device LIMIT $3")
  private static let zonesByName = zones(
    "zone >= $1 AND zone < $1 || chr(1114111) AND zone > $2 ORDER BY zone LIMIT $3")
  private static let zones = zones("zone = ANY ($1)")
  private static let accessToZone: PostgresStatement = """
    SELECT "user", role FROM holdfast.access WHERE zone = $1 AND "user" > $2 ORDER BY "user" LIMIT $3
    """
  private static let accessOfUser: PostgresStatement = """
    SELECT zone, role FROM holdfast.access WHERE "user" = $1 AND zone > $2 ORDER BY zone LIMIT $3
    """
  private static let role: PostgresStatement =
    "SELECT role FROM holdfast.access WHERE \"user\" = $1 AND zone = $2"
  private static let refusals = refusals("(r.device, r.first) > ($1, $2) ORDER BY r.device, r.first LIMIT $3")
  private static let refusalsOfDevice = refusals("r.device = $1 ORDER BY r.first LIMIT $2")
  private static let places: PostgresStatement = """
    SELECT r.record_table, r.zone, r.seq::text, r.rev::text, r.state::text, r.stamps, r.stamp::text, r.device::text
    FROM holdfast.records r WHERE r.id = $1 ORDER BY r.state, r.record_table, r.zone LIMIT $2
    """
  private static let conflicts = conflicts("$1::text IS NULL OR id < $1", "$2")
  private static let conflictsOfRecord = conflicts("record_id = $1", "$2")

  private static let audit: PostgresStatement = """
    SELECT id, at::text, action, target, detail, operator, node, address FROM holdfast.audit
    WHERE ($1::text IS NULL OR id < $1) AND starts_with(action, $2) ORDER BY id DESC LIMIT $3
    """
  private static let samples: PostgresStatement = """
    SELECT at::text, content FROM holdfast.samples WHERE node = $1 AND span = $2 AND at >= $3 ORDER BY at LIMIT $4
    """
  private static let sampledNodes: PostgresStatement =
    "SELECT DISTINCT node FROM holdfast.samples ORDER BY node LIMIT $1"

  private static func accounts(_ rest: String) -> PostgresStatement {
    PostgresStatement(
      "SELECT id, name, created_at::text, erasure::text FROM holdfast.accounts WHERE \(rest)")
  }

  private static func devices(_ rest: String) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT d.number::text, d.id, d.account, d.name, (d.token_hash IS NOT NULL)::int::text, d.confirmed::text,
        d.acknowledged_refusals::text, d.seen_at::text, d.session_at::text,
        (NOT (\(KnownDevice.takesSessions)))::int::text, d.acks_purged::int::text, d.app,
        d.unseen_since_restore::int::text FROM holdfast.devices d WHERE \(rest)
      """)
  }

  private static func acks(_ rest: String) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT a.device::text, a.zone, a.epoch, a.seq::text, a.lost::int::text, a.purged::text FROM holdfast.acks a WHERE \(rest)
      """)
  }

  private static func zones(_ rest: String) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT zone, seq::text, purged::text, public::int::text, restored::text, records::text, bytes::text
      FROM holdfast.zones WHERE \(rest)
      """)
  }

  private static func refusals(_ rest: String) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT r.device::text, r.first::text, r.last::text, r.operation::text, convert_from(r.problem, 'UTF8')
      FROM holdfast.refusals r WHERE \(rest)
      """)
  }

  private static func conflicts(_ condition: String, _ limit: String) -> PostgresStatement {
    PostgresStatement(
      """
      SELECT id, zone, record_table, record_id, column_name, policy, winner_value::text, winner_user, winner_device, winner_at,
        loser_value::text, loser_user, loser_device, loser_at, resolution
      FROM holdfast.conflicts WHERE \(condition) ORDER BY id DESC LIMIT \(limit)
      """)
  }
}
