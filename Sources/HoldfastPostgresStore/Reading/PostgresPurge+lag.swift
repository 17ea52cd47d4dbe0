import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresPurge {
  /// How far devices are behind. For some devices at a time.
  package func lag(of user: String?) throws -> [DeviceLag] {
    var lags: [DeviceLag] = []
    var last: Int64 = 0
    while true {
      let devices = try connection.query(
        PostgresPurgeStatements.findDevices, PostgresParameters(user, last, Int64(100)))
      if devices.isEmpty { return lags }
      var found: [Int64: DeviceLag] = [:]
      for row in devices.indices {
        last = devices.int64(row, 0)
        found[last] = DeviceLag(
          id: devices.text(row, 1), name: devices.text(row, 2), seenAt: devices.int64(row, 3),
          client: devices.optionalText(row, 4).map {
            ClientVersion(app: $0, schema: devices.optionalText(row, 5) ?? "")
          })
      }
      try count(&found)
      lags += found.sorted { $0.key < $1.key }.map(\.value)
    }
  }

  private func count(_ devices: inout [Int64: DeviceLag]) throws {
    var numbers = PostgresParameters()
    numbers.append(array: devices.keys)
    let acks = try connection.query(PostgresPurgeStatements.findAcksOfDevices, numbers)
    var zones = PostgresParameters()
    zones.append(array: TextSet(acks.indices.map { acks.text($0, 1) }))
    let rows = try connection.query(PostgresPurgeStatements.findSeqs, zones)
    let seqs = TextMap(
      rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) }, uniquingKeysWith: { first, _ in first })
    for row in acks.indices {
      if let seq = seqs[acks.text(row, 1)] {
        devices[acks.int64(row, 0)]?.add(ack: acks.int64(row, 2), seq: seq)
      }
    }
  }
}
