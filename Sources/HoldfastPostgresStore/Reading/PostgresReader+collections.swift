import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresReader {
  package func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    let source = statements.sources[table]
    // Records have no other ids, and PostgreSQL rejects texts with U+0000.
    let ids = TextSet(ids.filter(Identifier.isPossible)).sorted()
    if ids.isEmpty { return [:] }
    var creators = PostgresParameters(user, source.table.name)
    creators.append(array: ids)
    var wanted = PostgresParameters(array: ids)
    wanted.append(user)
    let answers = try connection.pipeline { pipe in
      pipe.send(source.find, wanted)
      pipe.send(PostgresRecordStatements.findCreators, creators)
    }
    let (rows, created) = (answers[0], answers[1])
    var requests: TextMap<String> = [:]
    for row in created.indices { requests[created.text(row, 0)] = created.text(row, 1) }
    var found: TextMap<SeenRecord> = [:]
    for row in rows.indices {
      let id = rows.text(row, 0)
      let place = RecordPlace(rows, row)
      guard place.state == .live else {
        // A live record replaces its tombstones in other zones.
        if found[id] == nil { found[id] = .deleted(Tombstone(place)) }
        continue
      }
      guard rows.bool(row, RecordPlace.end + source.columns.count) else {
        feed.mismatches.note(source.table.name, id, in: place.zone)
        continue
      }
      let record = StoredRecord(
        table: table, id: id, zone: place.zone, seq: place.seq, rev: place.rev, stamps: place.stamps ?? "",
        values: source.columns.indices.map {
          rows.value(row, RecordPlace.end + $0, source.columns[$0].type)
        })
      found[id] = .live(record, creator: requests[id])
    }
    return found
  }

  package func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones {
    let names = PostgresParameters(array: publicZones)
    // The zones are read first, so later reads are never older than these seqs.
    let answers = try connection.pipeline { pipe in
      pipe.send(PostgresCollections.findMemberships, PostgresParameters(user))
      pipe.send(PostgresCollections.findZones, names)
      pipe.send(PostgresCollections.findLosses, PostgresParameters(user))
    }
    var zones: [VisibleZones.Zone] = []
    var known: TextSet = []
    for rows in answers.prefix(2) {
      for row in rows.indices where !rows.text(row, 3).isEmpty && known.insert(rows.text(row, 0)).inserted {
        zones.append(
          VisibleZones.Zone(
            zone: rows.text(row, 0), seq: rows.int64(row, 1), purged: rows.int64(row, 2),
            role: rows.text(row, 3)))
      }
    }
    return VisibleZones(zones, losses: answers[2].isEmpty ? 0 : answers[2].int64(0, 0))
  }

  package func visibleZones(among zones: [String]?) throws -> VisibleZones {
    var names = PostgresParameters()
    if let zones { names.append(array: zones) }
    let rows = try connection.query(
      zones == nil ? PostgresCollections.findAllZones : PostgresCollections.findZones, names)
    return VisibleZones(
      rows.indices.map {
        VisibleZones.Zone(
          zone: rows.text($0, 0), seq: rows.int64($0, 1), purged: rows.int64($0, 2), role: Role.owner.rawValue
        )
      }, losses: 0)
  }

  package func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String] {
    let index = PostgresQueryStatement(
      query, collections.schema.tables[query.table], collections.layout.relations[query.table], zones: zones,
      limit: limit)
    return try connection.queryOnce(index.statement, index.parameters).texts
  }

  package func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64> {
    let statements = PostgresListStatements(list: list, relation: collections.layout.relations[list.table])
    var wanted = PostgresParameters(list.zone)
    wanted.append(array: ids)
    guard let parameters = statements.parameters(wanted) else { return [:] }
    let rows = try connection.query(statements.ranks, parameters)
    return TextMap(rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) })
  }

  package func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange]
  {
    let rows = try connection.query(
      collections.changes[table], PostgresParameters(zone, seq, Int64(limit)))
    return rows.indices.map { row in
      let place = RecordPlace(rows, row)
      let content: RecordChange.Content =
        switch place.state {
        case .live where rows.bool(row, RecordPlace.end + collections.layout.relations[table].columns.count):
          .live(collections.record(rows, row, place, of: table))
        case .live: .missing
        case .deleted: .deleted(Tombstone(place))
        case .departed: .departed
        }
      let id = rows.text(row, 0)
      if case .missing = content {
        feed.mismatches.note(collections.schema.tables[table].name, id, in: zone)
      }
      return RecordChange(id: id, seq: place.seq, content: content)
    }
  }

  package func places(of zones: [String]) throws -> TextMap<ZonePlace> {
    try requireMoment()
    let rows = try connection.query(PostgresReadStatements.findPlaces, PostgresParameters(array: zones))
    return TextMap(
      rows.indices.map { row in
        let state = ZonePlace.State(rawValue: rows.int64(row, 3)) ?? .going
        return (
          rows.text(row, 0),
          ZonePlace(leftFor: rows.optionalText(row, 1), number: rows.int64(row, 2), state: state)
        )
      })
  }

  package func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head? {
    let rows = try connection.query(
      PostgresCollections.findResult, PostgresParameters(user, token.withBytes { Array($0) }))
    if rows.isEmpty { return nil }
    return KeptResult.Head(
      table: rows.text(0, 0), columns: KeptResult.columns(rows.optionalText(0, 1)),
      limit: Int(rows.int64(0, 2)), count: Int(rows.int64(0, 3)), expires: rows.int64(0, 4))
  }

  package func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String] {
    let rows = try connection.query(
      PostgresCollections.findIDs, PostgresParameters(user, token.withBytes { Array($0) }, Int64(chunk)))
    return rows.isEmpty ? [] : KeptResult.ids(rows.text(0, 0))
  }
}

extension PostgresReader {
  private static let findErased: PostgresStatement =
    "SELECT id FROM holdfast.accounts WHERE erasure = 1 AND id > $1 ORDER BY id LIMIT 1"
  private static let findErasedZones: PostgresStatement =
    "SELECT z.zone, z.erased FROM holdfast.zones z WHERE z.erased > 0"

  package func erasedUser(after id: String) throws -> String? {
    try connection.query(Self.findErased, PostgresParameters(id)).texts.first
  }

  package func erasedZones() throws -> TextMap<Int64> {
    let rows = try connection.query(Self.findErasedZones, PostgresParameters())
    return TextMap(
      rows.indices.map { (rows.text($0, 0), rows.int64($0, 1)) }, uniquingKeysWith: { first, _ in first })
  }

  /// PostgreSQL checkpoints its log itself.
  func emptyLog() -> Bool { true }
}

/// The devices of users.
extension PostgresReader {
  func devices(of user: String, limit: Int) throws -> [ListedDevice] {
    let rows = try connection.query(
      PostgresReadStatements.listDevices, PostgresParameters(user, Int64(limit)))
    return rows.indices.map { row in
      ListedDevice(
        number: rows.int64(row, 0), id: rows.text(row, 1), name: rows.text(row, 2),
        seenAt: rows.int64(row, 3),
        hasSession: rows.bool(row, 4),
        pushToken: rows.optionalText(row, 5).map { PushToken(kind: $0, token: rows.text(row, 6)) })
    }
  }

  func lag(of user: String?) throws -> [DeviceLag] {
    let rows = try connection.query(PostgresReadStatements.findLag, PostgresParameters(user))
    return rows.indices.map { row in
      DeviceLag(
        id: rows.text(row, 0), name: rows.text(row, 1), seenAt: rows.int64(row, 2),
        client: rows.optionalText(row, 3).map {
          ClientVersion(app: $0, schema: rows.optionalText(row, 4) ?? "")
        },
        zones: Int(rows.int64(row, 5)), behind: Int(rows.int64(row, 6)), changes: rows.int64(row, 7))
    }
  }

  func pushTargets(_ audience: PushAudience, after number: Int64, limit: Int) throws -> [PushTarget] {
    let (names, statement) =
      switch audience {
      case .users(let users): (users, PostgresReadStatements.findPushTargets)
      case .followers(let zones): (zones, PostgresReadStatements.findFollowers)
      }
    var parameters = PostgresParameters()
    parameters.append(array: names)
    parameters.append(number)
    parameters.append(Int64(limit))
    let rows = try connection.query(statement, parameters)
    return rows.indices.map { row in
      PushTarget(
        device: rows.int64(row, 0), id: rows.text(row, 1), user: rows.text(row, 2),
        zone: rows.optionalText(row, 3),
        token: PushToken(kind: rows.text(row, 4), token: rows.text(row, 5)))
    }
  }
}
