package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension RecordPlace {
  /// The state of a ledger row `r` whose record is joined as `t`. A record that its table lacks, because the triggers were bypassed, counts
  /// as deleted for writers.
  package static let stateSQL = "CASE WHEN r.state = 0 AND t.id IS NULL THEN 1 ELSE r.state END"

  /// The columns after `id`, `zone` and `state` of a place, and the number of all these columns.
  package static let columnsSQL = "r.seq, r.rev, r.stamps, r.stamp, r.device, r.deleted_seq, r.size"
  package static let end = 10

  /// The place in a ledger row with the columns of `columnsSQL`.
  package init(_ rows: PostgresRows, _ row: Int) {
    self.init(
      zone: rows.text(row, 1), state: State(rawValue: rows.int64(row, 2)) ?? .departed,
      seq: rows.int64(row, 3), rev: rows.int64(row, 4), stamps: rows.optionalText(row, 5),
      stamp: rows.optionalInt64(row, 6), device: rows.optionalInt64(row, 7),
      deletedSeq: rows.optionalInt64(row, 8), size: rows.int64(row, 9))
    if state == .deleted, let stamps { (stamp, self.stamps) = (Self.last(of: stamps), nil) }
  }

  /// The stamp of a record's last change.
  private static func last(of stamps: String) -> Int64? {
    stamps.split(separator: ";").compactMap { change in
      RecordStamps(String(change.split(separator: "=").last ?? ""))?.creation.stamp.rawValue
    }.max()
  }
}

extension RecordEntry {
  /// Adds a ledger row, and the values after it.
  mutating func add(_ rows: PostgresRows, _ row: Int, _ columns: [PostgresLayout.Column]) {
    let place = RecordPlace(rows, row)
    places.put(place)
    if place.state != .live { return }
    values = columns.indices.map { rows.value(row, RecordPlace.end + $0, columns[$0].type) }
  }
}

extension PostgresRows {
  /// A column's value.
  package func value(_ row: Int, _ column: Int, _ type: ColumnType) -> Value {
    if isNull(row, column) { return .null }
    return switch type {
    case .integer: .integer(int64(row, column))
    case .real: .real(double(row, column))
    case .boolean: .integer(bool(row, column) ? 1 : 0)
    case .text, .timestamp, .json, .reference, .position: .text(text(row, column))
    }
  }
}
