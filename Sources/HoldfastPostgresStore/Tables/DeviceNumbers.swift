import HoldfastPostgres
import HoldfastService

/// The numbers that new devices get. A restore of the rows alone, or `RESTART`, lets them begin again at numbers that are taken: then no
/// device can be added.
enum DeviceNumbers {
  private static let findSequence: PostgresStatement =
    "SELECT pg_get_serial_sequence('holdfast.devices', 'number')"

  /// The greatest number of a device, if the next one is taken, or there is none; nil if all is well.
  private static func taken(on connection: PostgresConnection) throws(PostgresError) -> (
    last: Int64, sequence: String?
  )? {
    let sequence = try connection.query(findSequence).optionalText(0, 0)
    let next =
      sequence.map {
        "(SELECT CASE WHEN s.is_called THEN s.last_value + 1 ELSE s.last_value END FROM \($0) s)"
      } ?? "0"
    let rows = try connection.queryOnce(
      PostgresStatement(
        "SELECT coalesce(max(d.number), 0), \(next) <= coalesce(max(d.number), 0) FROM holdfast.devices d"))
    return rows.bool(0, 1) ? (rows.int64(0, 0), sequence) : nil
  }

  /// A finding if no device can be added.
  static func findings(on connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    guard try taken(on: connection) != nil else { return [] }
    return [
      Finding(
        .structure,
        "the numbers of new devices are taken, or there are none; `holdfast doctor --repair` mends it")
    ]
  }

  /// Lets the numbers go on after the greatest.
  ///
  /// - Returns: whether that was necessary.
  static func mend(on connection: PostgresConnection) throws(PostgresError) -> Bool {
    guard let taken = try taken(on: connection) else { return false }
    if taken.sequence == nil {
      try connection.execute(
        "ALTER TABLE holdfast.devices ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY")
    }
    try connection.execute("ALTER TABLE holdfast.devices ALTER COLUMN number RESTART WITH \(taken.last + 1)")
    return true
  }
}
