import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads from shards. Joins between data by device and data by zone run here.
final class PostgresShardReader: PostgresReader {
  /// The numbers of devices by their tokens, which all readers share.
  private let numbers: PostgresDeviceNumbers

  init(
    _ connection: PostgresConnection, _ known: KnownHistory, _ feed: PostgresChangeFeed,
    _ statements: PostgresRecordStatements, _ collections: PostgresCollections, _ parts: PostgresPartCache,
    _ numbers: PostgresDeviceNumbers, isRepeatable: Bool
  ) {
    self.numbers = numbers
    super.init(connection, known, feed, statements, collections, parts, isRepeatable: isRepeatable)
  }

  // Each statement of one table by its distribution column is planned once, for all shards.
  private static let findDevice = PostgresStatement(
    "SELECT \(KnownDevice.alone) FROM holdfast.devices d WHERE d.number = $1 AND d.token_hash = $2")
  private static let findNumber: PostgresStatement =
    "SELECT d.number FROM holdfast.devices d WHERE d.token_hash = $1"
  private static let findRefusals: PostgresStatement = """
    SELECT r.first, r.last, r.operation, r.problem FROM holdfast.refusals r WHERE r.device = $1 ORDER BY r.first
    """
  private static let findMemberships: PostgresStatement =
    "SELECT m.zone, m.role FROM holdfast.memberships m WHERE m.account = $1"
  private static let findZone: PostgresStatement = """
    SELECT z.zone, z.seq, z.purged, CASE WHEN z.public THEN 'viewer' ELSE '' END FROM holdfast.zones z WHERE z.zone = $1
    """
  /// The number of zones up to which each is asked for by itself, in one pipeline. More are asked for at once, on all their shards.
  private static let few = 8
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

    init(_ rows: PostgresRows, _ row: Int, role: String?) {
      (seq, purged) = (rows.int64(row, 1), rows.int64(row, 2))
      self.role = role ?? rows.text(row, 3)
    }
  }

  override func findDevices(_ tokens: [TokenHash], _ more: (PostgresPipeline) -> Void) throws -> (
    [TokenHash: PostgresFindings.Found], [PostgresRows]
  ) {
    var found: [TokenHash: PostgresFindings.Found] = [:]
    for token in tokens {
      let bytes = token.withBytes { Array($0) }
      let known = numbers[token]
      let answers = try connection.pipeline { pipe in
        pipe.send(PostgresEpoch.find)
        if let known {
          pipe.send(Self.findDevice, PostgresParameters(known, bytes))
        } else {
          pipe.send(Self.findNumber, PostgresParameters(bytes))
        }
      }
      try learn(history: answers[0])
      var rows = answers[1]
      if known == nil || rows.isEmpty {
        if known != nil { rows = try connection.query(Self.findNumber, PostgresParameters(bytes)) }
        let number = rows.isEmpty ? nil : rows.int64(0, 0)
        numbers[token] = number
        guard let number else { continue }
        rows = try connection.query(Self.findDevice, PostgresParameters(number, bytes))
      }
      if rows.isEmpty { continue }
      found[token] = PostgresFindings.Found(device: try KnownDevice(rows, 0, token), isPartial: true)
    }
    return (found, [])
  }

  override func complete(_ found: PostgresFindings.Found, _ key: DeviceKey) throws -> PostgresFindings.Found {
    var whole = found
    let number = PostgresParameters(key.number)
    let answers = try connection.pipeline { pipe in
      pipe.send(Self.findRefusals, number)
      pipe.send(Self.findAcks, number)
      pipe.send(Self.findMemberships, PostgresParameters(key.user))
    }
    whole.refusals = answers[0].indices.map { StoredRefusal(answers[0], $0, from: 0) }
    whole.zones = try zones(acks: answers[1], memberships: answers[2])
    whole.isPartial = false
    return whole
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

  /// The zones that a device acks and those that its user may see, each as its shard has it.
  private func zones(acks: PostgresRows, memberships: PostgresRows) throws -> [ZoneProgress] {
    let roles = TextMap(memberships.indices.map { (memberships.text($0, 0), memberships.text($0, 1)) })
    let names = TextSet(acks.texts + memberships.texts).sorted()
    let read = try connection.pipeline { pipe in
      if names.count <= Self.few {
        for name in names { pipe.send(Self.findZone, PostgresParameters(name)) }
      } else {
        var parameters = PostgresParameters()
        parameters.append(array: names)
        pipe.send(Self.findZones, parameters)
      }
    }
    var standings: TextMap<Standing> = [:]
    for rows in read {
      for row in rows.indices {
        standings[rows.text(row, 0)] = Standing(rows, row, role: roles[rows.text(row, 0)])
      }
    }
    var zones = acks.indices.map { row in
      let zone = acks.text(row, 0)
      let standing = standings.removeValue(forKey: zone)
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
