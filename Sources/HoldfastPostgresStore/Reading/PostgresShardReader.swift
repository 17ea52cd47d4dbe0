import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads from shards. Joins between data by device and data by zone run here.
final class PostgresShardReader: PostgresReader {
  private static let findDevice = PostgresStatement(
    PostgresReadStatements.devices("d.token_hash = $1", by: "r.first"))
  private static let findAcks: PostgresStatement =
    "SELECT a.zone, a.epoch, a.seq, a.lost, a.purged FROM holdfast.acks a WHERE a.device = $1"
  private static let findZones: PostgresStatement = """
    SELECT z.zone, z.seq, z.purged, CASE WHEN z.public THEN 'viewer' ELSE '' END FROM holdfast.zones z
    WHERE z.zone = ANY ($1)
    """
  private static let findAllUnnotified = PostgresStatement(unnotified("z.seq > coalesce(t.seq, 0)"))
  private static let findUnnotified = PostgresStatement(unnotified("z.zone = ANY ($2)"))

  private static func unnotified(_ condition: String) -> String {
    """
    SELECT z.zone, z.seq, z.public, string_agg(m."user", ' ') FROM holdfast.zones z
    LEFT JOIN holdfast.notified t ON t.zone = z.zone LEFT JOIN holdfast.access m ON m.zone = z.zone
    WHERE \(condition) GROUP BY z.zone, z.seq, z.public ORDER BY z.zone LIMIT $1
    """
  }

  private struct Standing {
    let seq: Int64
    let purged: Int64
    let role: String

    init(_ rows: PostgresRows, _ row: Int) {
      (seq, purged, role) = (rows.int64(row, 1), rows.int64(row, 2), rows.text(row, 3))
    }
  }

  override func findDevices(_ tokens: [TokenHash], _ more: (PostgresPipeline) -> Void) throws -> (
    [TokenHash: PostgresFindings.Found], [PostgresRows]
  ) {
    var found: [TokenHash: PostgresFindings.Found] = [:]
    for token in tokens {
      let answers = try connection.pipeline { pipe in
        pipe.send(PostgresEpoch.find)
        pipe.send(Self.findDevice, PostgresParameters(token.withBytes { Array($0) }))
      }
      try learn(history: answers[0])
      let rows = answers[1]
      if rows.isEmpty { continue }
      found[token] = PostgresFindings.Found(
        device: try KnownDevice(rows, 0, token),
        zones: try zones(of: rows.int64(0, 0), user: rows.text(0, 1)),
        refusals: rows.indices.compactMap { StoredRefusal(rows, $0) })
    }
    return (found, [])
  }

  override func findUnnotified(_ parameters: PostgresParameters, isForAll: Bool) throws -> PostgresRows {
    try connection.query(isForAll ? Self.findAllUnnotified : Self.findUnnotified, parameters)
  }

  /// Looks up the zones of the records, then reads each zone. Repeats this if records have moved to other zones in between.
  override func findRecords(
    _ ids: [String], _ source: PostgresRecordStatements.Source, _ user: String?,
    _ creators: PostgresParameters
  ) throws -> (records: [PostgresRows], creators: PostgresRows) {
    var wanted = PostgresParameters(source.table.name)
    wanted.append(array: ids)
    while true {
      let places = try connection.query(PostgresRecordStatements.findPlaces, wanted)
      var zones: TextMap<[String]> = [:]
      for row in places.indices where places.int64(row, 2) < 2 {
        zones[places.text(row, 1), default: []].append(places.text(row, 0))
      }
      let names = zones.keys.sorted()
      let answers = try connection.pipeline { pipe in
        for zone in names {
          var parameters = PostgresParameters(zone, user)
          parameters.append(array: zones[zone] ?? [])
          pipe.send(source.findInZone, parameters)
        }
        pipe.send(PostgresRecordStatements.findCreators, creators)
        pipe.send(PostgresRecordStatements.findPlaces, wanted)
      }
      if Self.zones(answers[names.count + 1]) == Self.zones(places) {
        return (Array(answers.prefix(names.count)), answers[names.count])
      }
    }
  }

  /// The zones of the records in a look-up.
  private static func zones(_ places: PostgresRows) -> Set<[TextKey]> {
    Set(
      places.indices.filter { places.int64($0, 2) < 2 }.map {
        [TextKey(places.text($0, 0)), TextKey(places.text($0, 1))]
      })
  }

  private func zones(of device: Int64, user: String) throws -> [ZoneProgress] {
    let answers = try connection.pipeline { pipe in
      pipe.send(Self.findAcks, PostgresParameters(device))
      pipe.send(PostgresReadStatements.findMemberships, PostgresParameters(user))
    }
    let (acks, memberships) = (answers[0], answers[1])
    var standings: TextMap<Standing> = [:]
    for row in memberships.indices { standings[memberships.text(row, 0)] = Standing(memberships, row) }
    let others = acks.texts.filter { standings[$0] == nil }
    var ofOthers: TextMap<Standing> = [:]
    if !others.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: others)
      let rows = try connection.query(Self.findZones, parameters)
      for row in rows.indices { ofOthers[rows.text(row, 0)] = Standing(rows, row) }
    }
    var zones = acks.indices.map { row in
      let zone = acks.text(row, 0)
      let standing = standings.removeValue(forKey: zone) ?? ofOthers[zone]
      return ZoneProgress(
        zone: zone,
        ack: ZoneAck(
          zone: zone, epoch: acks.text(row, 1), seq: acks.int64(row, 2), purged: acks.int64(row, 4)),
        isStored: true, seq: standing?.seq ?? 0, purged: standing?.purged ?? 0, role: standing?.role ?? "",
        wasLost: acks.bool(row, 3))
    }
    for (zone, standing) in standings {
      zones.append(
        ZoneProgress(
          zone: zone, ack: ZoneAck(zone: zone, epoch: "", seq: 0), isStored: false, seq: standing.seq,
          purged: standing.purged, role: standing.role, wasLost: false))
    }
    return zones
  }
}
