import HoldfastPostgres
import HoldfastService

/// The numbers that new devices get. A restore of the rows alone, or `RESTART`, lets them begin again at numbers that are taken: then no
/// device can be added.
enum DeviceNumbers {
  private static let sequence = "pg_get_serial_sequence('holdfast.devices', 'number')::regclass"
  /// The greatest number, if the next ones are taken, and whether there are next ones at all.
  private static let find = PostgresStatement(
    """
    SELECT max(d.number), \(sequence) IS NOT NULL FROM holdfast.devices d
    HAVING max(d.number) > coalesce(pg_sequence_last_value(\(sequence)), 0) OR \(sequence) IS NULL
    """)

  /// A finding if no device can be added.
  static func findings(on connection: PostgresConnection) throws(PostgresError) -> [Finding] {
    if try connection.query(find).isEmpty { return [] }
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
    let rows = try connection.query(find)
    if rows.isEmpty { return false }
    if !rows.bool(0, 1) {
      try connection.execute(
        "ALTER TABLE holdfast.devices ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY")
    }
    try connection.run(
      PostgresStatement("SELECT setval(\(sequence), $1)"), PostgresParameters(rows.optionalInt64(0, 0) ?? 1))
    return true
  }
}
