import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Writes to distributed tables, one zone or device at a time, so that each statement goes to one shard.
final class PostgresShardWriting: PostgresWriting {
  unowned let store: PostgresStore
  let statements: PostgresShardStatements
  /// The numbers of the devices whose session was read.
  private var numbers: TextMap<Int64> = [:]

  init(_ store: PostgresStore) {
    self.store = store
    statements = PostgresShardStatements(store.schema, store.layout, store.lane)
  }

  /// A lock timeout does not apply on the nodes. The statement timeout does, so its cancellation counts as a lock timeout.
  func isLateLock(_ error: PostgresError) -> Bool { error.code == .queryCanceled }

  func latestClock() throws -> Stamp {
    let zones = try store.connection.query(PostgresShardStatements.findZoneClock)
    let devices = try store.connection.query(PostgresShardStatements.findDeviceClock)
    return Stamp(rawValue: max(zones.int64(0, 0), devices.int64(0, 0)))
  }

  func references(
    of table: Int, by column: Int, to values: [String], limit: Int, zones: (String) -> [String]
  ) throws -> [(id: String, value: String)] {
    try values.flatMap { value in
      try ids(of: table, where: column, is: value, in: zones(value), limit: Int64(limit)).map { ($0, value) }
    }
  }

  private func ids(of table: Int, where column: Int, is value: String, in zones: [String], limit: Int64)
    throws
    -> [String]
  {
    let records = statements.records[table]
    guard let everywhere = records.findWhereAnywhere[column], let inZone = records.findWhere[column]
    else { return [] }
    if zones.isEmpty { return try store.connection.query(everywhere, PostgresParameters(value, limit)).texts }
    return try zones.flatMap { zone in
      try store.connection.query(inZone, PostgresParameters(zone, value, limit)).texts
    }
  }

  func ids(of table: Int, sharing group: Int, _ values: [Value], in zone: String) throws -> [String] {
    let parameters = PostgresParameters(zone, values, of: store.schema.tables[table], group)
    return try store.connection.query(statements.records[table].findSame[group], parameters).texts
  }

  func setNotified(_ zones: [NotifiedZone]) throws {
    try store.connection.pipeline { pipe in
      for zone in zones {
        pipe.send(PostgresShardStatements.putNotified, PostgresParameters(zone.zone, zone.seq))
      }
    }
  }

  func device(_ number: Int64) throws -> DeviceRow? {
    let number = PostgresParameters(number)
    let answers = try store.connection.pipeline { pipe in
      pipe.send(statements.lockDevice, number)
      pipe.send(PostgresShardStatements.findRefusals, number)
      pipe.send(PostgresShardStatements.countAcks, number)
    }
    return DeviceRow(answers)
  }

  func add(_ device: NewDevice) throws {
    let number = try store.connection.query(
      PostgresShardStatements.nextDevice, PostgresParameters(device.user)
    ).int64(0, 0)
    try store.connection.run(
      PostgresShardStatements.addDevice,
      PostgresParameters(
        number, device.id, device.user, device.name, device.token.withBytes { Array($0) },
        device.clock.rawValue, device.seenAt, device.scope, device.issuedAfter))
  }

  func session(of device: String, user: String) throws -> LastSession? {
    let found = try store.connection.query(
      PostgresShardStatements.findDevice, PostgresParameters(device, user))
    if found.isEmpty { return nil }
    let number = found.int64(0, 0)
    let rows = try store.connection.query(PostgresShardStatements.lockSession, PostgresParameters(number))
    numbers = [device: number]
    return LastSession(rows)
  }

  func beginSession(_ number: Int64, of device: String, name: String, token: TokenHash, at now: Int64) throws
  {
    guard let place = numbers[device] else {
      throw ServerError(.damaged, "The session of a device is asked for before another begins.")
    }
    try store.connection.run(
      PostgresShardStatements.changeSession,
      PostgresParameters(place, token.withBytes { Array($0) }, name, now, number))
  }
}
