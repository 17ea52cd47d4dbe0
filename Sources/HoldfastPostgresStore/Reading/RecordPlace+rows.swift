package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension RecordPlace {
  /// The state of a row of the ledger, `r`, whose record is looked up as `t`: one that its table lacks, as it was changed behind the triggers,
  /// is deleted to who edits it.
  package static let stateSQL = "CASE WHEN r.state = 0 AND t.id IS NULL THEN 1 ELSE r.state END"

  /// What follows `id`, `zone` and `state` where `r` is read as a place, and how many columns these are together.
  package static let columnsSQL = "r.seq, r.rev, r.stamps, r.stamp, r.device, r.deleted_seq, r.size"
  package static let end = 10

  /// A row of the ledger, read as `columns` says.
  package init(_ rows: PostgresRows, _ row: Int) {
    self.init(
      state: State(rawValue: rows.int64(row, 2)) ?? .departed, seq: rows.int64(row, 3),
      rev: rows.int64(row, 4),
      stamps: rows.optionalText(row, 5), stamp: rows.optionalInt64(row, 6),
      device: rows.optionalInt64(row, 7),
      deletedSeq: rows.optionalInt64(row, 8), size: rows.int64(row, 9))
    if state == .deleted, let stamps { (stamp, self.stamps) = (Self.last(of: stamps), nil) }
  }

  /// The stamp of the last change of a record.
  private static func last(of stamps: String) -> Int64? {
    stamps.split(separator: ";").compactMap { change in
      RecordStamps(String(change.split(separator: "=").last ?? ""))?.creation.stamp.rawValue
    }.max()
  }
}

extension RecordEntry {
  /// Takes in a row of the ledger, and the values behind it.
  mutating func add(_ rows: PostgresRows, _ row: Int, _ columns: [PostgresLayout.Column]) {
    let place = RecordPlace(rows, row)
    places[rows.text(row, 1)] = place
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
