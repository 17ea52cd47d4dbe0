import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension KnownDevice {
  /// The columns of a device, `d`, with a refusal, `r`, where it has any.
  static let columnsSQL = """
    d.number, d.account, d.confirmed, d.chain, d.seen_at, d.acknowledged_refusals, d.session_used,
      r.first, r.last, r.operation, r.problem, d.scope, d.issued_after, d.acks_purged, d.app, d.app_schema,
      d.session_at
    """
  /// The number of these columns.
  static let columnCount = 17

  init(_ rows: PostgresRows, _ row: Int, _ token: TokenHash) throws {
    self.init(
      key: DeviceKey(
        number: rows.int64(row, 0), user: rows.text(row, 1), token: token,
        use: try .init(scope: rows.optionalText(row, 11))),
      confirmed: rows.int64(row, 2), chain: Fingerprint(value: UInt64(bitPattern: rows.int64(row, 3))),
      seenAt: rows.int64(row, 4), sessionAt: rows.int64(row, 16), acknowledgedRefusals: rows.int64(row, 5),
      isSessionUsed: rows.bool(row, 6),
      issuedAfter: rows.isNull(row, 12) ? nil : rows.int64(row, 12), hasPurgedAcks: rows.bool(row, 13),
      client: rows.optionalText(row, 14).map {
        ClientVersion(app: $0, schema: rows.optionalText(row, 15) ?? "")
      })
  }
}

extension StoredRefusal {
  /// The refusal in a row of a device; nil when there is none.
  init?(_ rows: PostgresRows, _ row: Int) {
    if rows.isNull(row, 7) { return nil }
    self.init(
      first: rows.int64(row, 7), last: rows.int64(row, 8), operation: rows.int64(row, 9),
      problem: rows.bytes(row, 10))
  }
}

extension ZoneProgress {
  /// A zone of a device: its name, the epoch and seq of the ack, the zone's seq, `purged`, role, whether it was lost, whether the ack is stored, and
  /// the ack's `purged`.
  init(_ rows: PostgresRows, _ row: Int) {
    let zone = rows.text(row, 0)
    self.init(
      zone: zone,
      ack: ZoneAck(zone: zone, epoch: rows.text(row, 1), seq: rows.int64(row, 2), purged: rows.int64(row, 8)),
      isStored: rows.bool(row, 7), seq: rows.int64(row, 3), purged: rows.int64(row, 4),
      role: rows.text(row, 5), wasLost: rows.bool(row, 6))
  }
}
