import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The statements of a writing transaction on shards. Each names the zone or device of its shard. Look-ups of records by id alone read all
/// shards, without locks or writes.
struct PostgresShardStatements {
  /// The statements of one table. Each handles one zone, `$1`.
  struct Records {
    /// Selects the ledger rows of `$2`, with the values of live records.
    let find: PostgresStatement
    let insert: PostgresStatement
    let delete: PostgresStatement
    /// By column: selects the ids of the records with the value `$2`; nil for a column that is neither a reference nor a group.
    let findWhere: [PostgresStatement?]
    /// The same in all zones, with the value as `$1`.
    let findWhereAnywhere: [PostgresStatement?]
    /// By unique group: selects the ids of the records with its values, which start at `$2`.
    let findSame: [PostgresStatement]
  }

  static let configure: PostgresStatement = """
    SELECT pg_current_xact_id()::text::bigint, set_config('statement_timeout', $1, true), set_config('row_security', 'off', true)
    """
  /// Selects the ledger rows of `$2` in all zones.
  static let findPlaces = PostgresStatement(
    """
    SELECT r.id, r.zone, r.state, \(RecordPlace.columnsSQL) FROM holdfast.records r
    WHERE r.record_table = $1 AND r.id = ANY ($2)
    """)
  static let findZoneClock: PostgresStatement = "SELECT coalesce(max(clock), 0) FROM holdfast.zones"
  static let findDeviceClock: PostgresStatement = "SELECT coalesce(max(clock), 0) FROM holdfast.devices"
  static let findDevicesOfUser: PostgresStatement = "SELECT number FROM holdfast.devices WHERE account = $1"
  static let findDevice: PostgresStatement =
    "SELECT number FROM holdfast.devices WHERE id = $1 AND account = $2"

  let lockDevice: PostgresStatement
  let lockZone: PostgresStatement
  static let findRefusals: PostgresStatement =
    "SELECT device, last FROM holdfast.refusals WHERE device = $1 ORDER BY first"
  static let countAcks: PostgresStatement =
    "SELECT device, count(*) FROM holdfast.acks WHERE device = $1 GROUP BY device"
  /// Selects the zone if it exists, even if another transaction has locked it. Asked for when its row could not be locked.
  static let findZone: PostgresStatement = "SELECT zone FROM holdfast.zones WHERE zone = $1"
  static let findRoles: PostgresStatement =
    "SELECT m.zone, m.\"user\", m.role FROM holdfast.access m WHERE m.zone = $1 AND m.\"user\" = ANY ($2)"

  static let addZone: PostgresStatement = "INSERT INTO holdfast.zones (zone, seq) VALUES ($1, 0)"
  static let moveZone: PostgresStatement =
    """
    UPDATE holdfast.zones SET seq = $2, clock = greatest(clock, $3), records = greatest(0, $4::bigint),
      bytes = greatest(0, $5::bigint) WHERE zone = $1
    """
  static let putRole: PostgresStatement = """
    INSERT INTO holdfast.access (zone, "user", role) VALUES ($1, $2, $3)
    ON CONFLICT (zone, "user") DO UPDATE SET role = excluded.role
    """
  static let dropRole: PostgresStatement = "DELETE FROM holdfast.access WHERE zone = $1 AND \"user\" = $2"
  static let putMembership: PostgresStatement = """
    INSERT INTO holdfast.memberships (account, zone, role) VALUES ($1, $2, $3)
    ON CONFLICT (account, zone) DO UPDATE SET role = excluded.role
    """
  static let dropMembership: PostgresStatement =
    "DELETE FROM holdfast.memberships WHERE account = $1 AND zone = $2"
  static let dropPlace: PostgresStatement =
    "DELETE FROM holdfast.records WHERE zone = $1 AND record_table = $2 AND id = $3"
  static let putPlace: PostgresStatement = """
    INSERT INTO holdfast.records (zone, seq, record_table, id, rev, state, stamps, stamp, device, deleted_seq, size)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (record_table, id, zone) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, state = excluded.state,
      stamps = excluded.stamps, stamp = excluded.stamp, device = excluded.device, deleted_seq = excluded.deleted_seq,
      size = excluded.size
    """
  static let putNotified: PostgresStatement = """
    INSERT INTO holdfast.notified AS t (zone, seq) VALUES ($1, $2)
    ON CONFLICT (zone) DO UPDATE SET seq = greatest(t.seq, excluded.seq)
    """

  static let nextDevice: PostgresStatement = "SELECT holdfast.next_device($1)"
  static let addDevice: PostgresStatement = """
    INSERT INTO holdfast.devices (number, id, account, name, token_hash, clock, seen_at, session_at, scope, issued_after)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8, $9)
    """
  static let lockSession: PostgresStatement =
    "SELECT session, session_used, applied FROM holdfast.devices WHERE number = $1 FOR NO KEY UPDATE"
  static let changeSession: PostgresStatement = """
    UPDATE holdfast.devices SET token_hash = $2, name = $3, seen_at = $4, session_at = $4, session = $5, session_used = false
    WHERE number = $1
    """
  static let moveDevice: PostgresStatement = """
    UPDATE holdfast.devices SET confirmed = $2, chain = $3, acknowledged_refusals = $4, clock = $5, seen_at = $6,
      session_used = $8, unseen_since_restore = false, applied = $7 WHERE number = $1
    """
  static let dropRefusals: PostgresStatement =
    "DELETE FROM holdfast.refusals WHERE device = $1 AND last <= $2"
  static let addRefusal: PostgresStatement = """
    INSERT INTO holdfast.refusals (device, first, last, operation, problem) VALUES ($1, $2, $3, $4, $5)
    """
  static let clearAcks: PostgresStatement = "DELETE FROM holdfast.acks WHERE device = $1 AND NOT lost"
  static let dropAck: PostgresStatement = "DELETE FROM holdfast.acks WHERE device = $1 AND zone = $2"
  // If the zone was lost since the last ack, the device must resync or drop it.
  static let putAck: PostgresStatement = """
    INSERT INTO holdfast.acks AS a (device, zone, epoch, seq, purged, lost) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (device, zone) DO UPDATE
    SET epoch = excluded.epoch, seq = excluded.seq, purged = excluded.purged, lost = a.lost AND excluded.epoch <> ''
    """
  static let noteLoss: PostgresStatement =
    "UPDATE holdfast.acks SET lost = true WHERE device = $1 AND zone = $2"

  static let countLosses: PostgresStatement =
    "UPDATE holdfast.accounts SET losses = losses + $2 WHERE id = $1"

  /// In schema order.
  let records: [Records]

  init(_ schema: SyncSchema, _ layout: PostgresLayout, _ lane: PostgresStore.Lane) {
    let skip = lane == .fast ? " SKIP LOCKED" : ""
    lockDevice = PostgresStatement(
      """
      SELECT \(DeviceRow.columns) FROM holdfast.devices
      WHERE number = $1 FOR NO KEY UPDATE\(skip)
      """)
    lockZone = PostgresStatement(
      "SELECT zone, seq, public, clock, records, bytes FROM holdfast.zones WHERE zone = $1 FOR NO KEY UPDATE\(skip)"
    )
    records = zip(schema.tables, layout.relations).map { Self.records($0, $1) }
  }

  private static func records(_ table: TableSchema, _ relation: PostgresLayout.Relation) -> Records {
    let names = relation.columns.map { ", \($0.name)" }.joined()
    let values = relation.columns.enumerated().map { ", $\($0 + 3)\($1.cast)" }.joined()
    let columns = relation.columns.map { ", \($0.read)" }.joined()
    func findWhere(_ condition: (PostgresLayout.Column) -> String) -> [PostgresStatement?] {
      relation.columns.map { column in
        column.type != .reference && !(table.zone == .explicit && column.name == "\"group\"")
          ? nil : PostgresStatement("SELECT t.id FROM \(relation.name) t WHERE \(condition(column))")
      }
    }
    return Records(
      find: PostgresStatement(
        """
        SELECT r.id, r.zone, \(RecordPlace.stateSQL), \(RecordPlace.columnsSQL)\(columns)
        FROM holdfast.records r LEFT JOIN \(relation.name) t ON t.zone = r.zone AND t.id = r.id AND r.state = 0
        WHERE r.zone = $1 AND r.record_table = \(PostgresName.literal(relation.table)) AND r.id = ANY ($2)
        """),
      insert: PostgresStatement(
        "INSERT INTO \(relation.name) (zone, id\(names)) VALUES ($1, $2\(values))"),
      delete: PostgresStatement("DELETE FROM \(relation.name) t WHERE t.zone = $1 AND t.id = $2"),
      findWhere: findWhere { "t.zone = $1 AND t.\($0.name) = $2 LIMIT $3" },
      findWhereAnywhere: findWhere { "t.\($0.name) = $1 LIMIT $2" },
      findSame: table.unique.map { group in
        let same = group.enumerated().map { place, name in
          let column = relation.columns[table.index(of: name) ?? 0]
          return " AND t.\(column.name) = $\(place + 2)\(column.cast)"
        }
        return PostgresStatement(
          "SELECT t.id FROM \(relation.name) t WHERE t.zone = $1\(same.joined())")
      })
  }

  /// Updates some columns of the record `$2` of the zone `$1`.
  static func update(_ relation: PostgresLayout.Relation, columns: [Int]) -> PostgresStatement {
    let settings = columns.enumerated().map { place, column in
      "\(relation.columns[column].name) = $\(place + 3)\(relation.columns[column].cast)"
    }
    return PostgresStatement(
      "UPDATE \(relation.name) t SET \(settings.joined(separator: ", ")) WHERE t.zone = $1 AND t.id = $2")
  }
}
