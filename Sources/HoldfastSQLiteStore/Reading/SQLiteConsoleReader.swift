import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The console's queries in SQLite.
final class SQLiteConsoleReader: ConsoleReader {
  private let schema: SyncSchema
  private let connection: SQLiteConnection

  init(_ schema: SyncSchema, on connection: SQLiteConnection) {
    (self.schema, self.connection) = (schema, connection)
  }

  private static let users = "SELECT id, name, created_at, erasure FROM holdfast_accounts"
  private static let devices = """
    SELECT d.number, d.id, d.user, d.name, d.token_hash IS NOT NULL, d.confirmed, d.acknowledged_refusals, d.seen_at, d.session_at,
      NOT (\(KnownDevice.takesSessions)), d.acks_purged, d.app, d.unseen_since_restore FROM holdfast_devices d
    """
  private static let acks = "SELECT device, zone, epoch, seq, lost, purged FROM holdfast_acks"
  private static let zones = "SELECT zone, seq, purged, public, restored, records, bytes FROM holdfast_zones"
  private static let refusals = "SELECT device, first, last, operation, problem FROM holdfast_refusals"
  private static let conflicts = """
    SELECT id, zone, record_table, record_id, column_name, policy, winner_value, winner_user, winner_device, winner_at, loser_value,
      loser_user, loser_device, loser_at, resolution FROM conflicts
    """
  /// The end of the range of names with a prefix.
  private static let end = "?1 || char(1114111)"

  func rows(_ query: ConsoleQuery) throws -> [[String?]] {
    switch query {
    case .usersByName(let prefix, let after, let limit):
      try rows(
        "\(Self.users) WHERE name >= ?1 AND name < \(Self.end) AND name > ?2 ORDER BY name LIMIT ?3", prefix,
        after, limit)
    case .users(let ids): try rows("\(Self.users) WHERE id IN (\(Self.list))", SQLiteValue.list(ids))
    case .devices(let after, let limit):
      try rows("\(Self.devices) WHERE number > ?1 ORDER BY number LIMIT ?2", after, limit)
    case .devicesOfUsers(let users, let after, let limit):
      try rows(
        "\(Self.devices) WHERE user IN (\(Self.list)) AND number > ?2 ORDER BY number LIMIT ?3",
        SQLiteValue.list(users), after, limit)
    case .device(let id): try rows("\(Self.devices) WHERE id = ?1", id)
    case .devicesByNumber(let numbers):
      try rows("\(Self.devices) WHERE number IN (\(Self.list))", SQLiteValue.list(numbers))
    case .acks(let devices, let limit):
      try rows(
        "\(Self.acks) WHERE device IN (\(Self.list)) ORDER BY device, zone LIMIT ?2",
        SQLiteValue.list(devices),
        limit)
    case .acksOfDevice(let device, let after, let limit):
      try rows("\(Self.acks) WHERE device = ?1 AND zone > ?2 ORDER BY zone LIMIT ?3", device, after, limit)
    case .ack(let device, let zone): try rows("\(Self.acks) WHERE device = ?1 AND zone = ?2", device, zone)
    case .acksOfZone(let zone, let epoch, let limit):
      try rows(
        "\(Self.acks) WHERE zone = ?1 AND epoch = ?2 AND lost = 0 ORDER BY max(seq, purged), device LIMIT ?3",
        zone, epoch, limit)
    case .zonesByName(let prefix, let after, let limit):
      try rows(
        "\(Self.zones) WHERE zone >= ?1 AND zone < \(Self.end) AND zone > ?2 ORDER BY zone LIMIT ?3", prefix,
        after, limit)
    case .zones(let names): try rows("\(Self.zones) WHERE zone IN (\(Self.list))", SQLiteValue.list(names))
    case .accessToZone(let zone, let after, let limit):
      try rows(
        "SELECT user, role FROM holdfast_access WHERE zone = ?1 AND user > ?2 ORDER BY user LIMIT ?3", zone,
        after, limit)
    case .accessOfUser(let user, let after, let limit):
      try rows(
        "SELECT zone, role FROM holdfast_access WHERE user = ?1 AND zone > ?2 ORDER BY zone LIMIT ?3", user,
        after, limit)
    case .role(let user, let zone):
      try rows("SELECT role FROM holdfast_access WHERE user = ?1 AND zone = ?2", user, zone)
    case .refusals(let device, let first, let limit):
      try rows(
        "\(Self.refusals) WHERE (device, first) > (?1, ?2) ORDER BY device, first LIMIT ?3", device, first,
        limit)
    case .refusalsOfDevice(let device, let limit):
      try rows("\(Self.refusals) WHERE device = ?1 ORDER BY first LIMIT ?2", device, limit)
    case .places(let record, let limit): try rows(places, record, limit)
    case .conflicts(let before, let limit):
      try before.map { try rows("\(Self.conflicts) WHERE id < ?1 ORDER BY id DESC LIMIT ?2", $0, limit) }
        ?? rows("\(Self.conflicts) ORDER BY id DESC LIMIT ?1", limit)
    case .conflictsOfRecord(let record, let limit):
      try rows("\(Self.conflicts) WHERE record_id = ?1 ORDER BY id DESC LIMIT ?2", record, limit)
    case .audit(let before, let action, let limit):
      try rows(
        """
        SELECT id, at, action, target, detail, operator, node, address FROM holdfast_audit
        WHERE (?1 = '' OR id < ?1) AND substr(action, 1, length(?2)) = ?2 ORDER BY id DESC LIMIT ?3
        """, before ?? "", action, limit)
    case .samples(let node, let span, let from, let limit):
      try rows(
        "SELECT at, content FROM holdfast_samples WHERE node = ?1 AND span = ?2 AND at >= ?3 ORDER BY at LIMIT ?4",
        node, span.rawValue, from, limit)
    case .sampledNodes(let limit):
      try rows("SELECT DISTINCT node FROM holdfast_samples ORDER BY node LIMIT ?1", limit)
    }
  }

  private var places: String {
    let live = schema.tables.map {
      "SELECT '\($0.name)' AS name, zone, seq, rev, 0 AS state, stamps, NULL AS stamp, NULL AS device FROM \"\($0.name)\" WHERE id = ?1"
    }
    return """
      \(live.joined(separator: "\nUNION ALL ")) UNION ALL
      SELECT record_table, zone, seq, rev, 1 + departed, NULL, stamp, device FROM holdfast_tombstones WHERE id = ?1
      ORDER BY state, name, zone LIMIT ?2
      """
  }

  /// The elements of the first parameter, a JSON array.
  private static let list = "SELECT value FROM json_each(?1)"

  private func rows(_ sql: String, _ values: any ConsoleParameter...) throws -> [[String?]] {
    try connection.rows(sql, values.map(\.sqliteValue)).map { row in
      row.map { value in
        switch value {
        case .null: nil
        case .integer(let number): String(number)
        case .real(let number): String(number)
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
      }
    }
  }
}

/// A value of a query.
private protocol ConsoleParameter {
  var sqliteValue: SQLiteValue { get }
}

extension String: ConsoleParameter {
  fileprivate var sqliteValue: SQLiteValue { .text(self) }
}

extension Int: ConsoleParameter {
  fileprivate var sqliteValue: SQLiteValue { .integer(Int64(self)) }
}

extension Int64: ConsoleParameter {
  fileprivate var sqliteValue: SQLiteValue { .integer(self) }
}

extension SQLiteValue: ConsoleParameter {
  fileprivate var sqliteValue: SQLiteValue { self }
}
