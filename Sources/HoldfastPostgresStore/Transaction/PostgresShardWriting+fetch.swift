import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresShardWriting {
  /// The ledger rows of records, as read without locks.
  private typealias Places = [Footprint.Key: RecordPlaces]

  /// Looks up the zones of the records. Then begins the transaction, and locks and reads one zone at a time.
  package func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Fetched {
    let joined = PostgresStore.JoinedFootprint(footprints)
    let places = try find(joined.wanted)
    var ids: TextMap<[Int: [String]]> = [:]
    for zone in joined.zones { ids[zone] = [:] }
    for (key, places) in places {
      for (zone, place) in places where place.state != .departed {
        ids[zone, default: [:]][key.table, default: []].append(key.id)
      }
    }
    let zones = ids.keys.sorted()
    var found: [(zone: String, table: Int, number: Int)] = []
    var starts: [Int] = []
    var names = -1
    var requests: PostgresRequests.Asked?
    let answers = try store.connection.pipeline { pipe in
      pipe.send(PostgresStatements.begin)
      pipe.send(
        PostgresShardStatements.configure, PostgresParameters(store.lane == .fast ? "500ms" : "1s"))
      pipe.send(PostgresEpoch.share)
      pipe.send(PostgresEpoch.find)
      for device in joined.devices {
        let number = PostgresParameters(device)
        pipe.send(statements.lockDevice, number)
        pipe.send(PostgresShardStatements.findRefusals, number)
        pipe.send(PostgresShardStatements.countAcks, number)
      }
      requests = PostgresRequests.Asked(footprints, store.schema, pipe)
      if !joined.users.isEmpty {
        var users = PostgresParameters()
        users.append(array: joined.users)
        names = pipe.send(PostgresStatements.findNames, users)
      }
      for zone in zones {
        starts.append(pipe.send(statements.lockZone, PostgresParameters(zone)))
        var users = PostgresParameters(zone)
        users.append(array: joined.users)
        pipe.send(PostgresShardStatements.findRoles, users)
        for (table, ids) in ids[zone] ?? [:] {
          var wanted = PostgresParameters(zone)
          wanted.append(array: ids)
          found.append((zone, table, pipe.send(statements.records[table].find, wanted)))
        }
      }
    }
    store.transaction = answers[1].int64(0, 0)
    try store.learn(history: answers[3])
    var fetched = Fetched()
    for (index, device) in joined.devices.enumerated() {
      let start = 4 + 3 * index
      fetched.devices[device] = .some(nil)
      fetched.learn(devices: answers[start], refusals: answers[start + 1], acks: answers[start + 2])
    }
    if names >= 0 { store.accountTable.learn(names: answers[names]) }
    requests?.learn(answers, &fetched)
    // A zone that could not be locked is new, or another transaction has it.
    let unlocked = zip(zones, starts).filter { answers[$1].isEmpty }.map(\.0)
    let there =
      unlocked.isEmpty
      ? []
      : try store.connection.pipeline { pipe in
        for zone in unlocked { pipe.send(PostgresShardStatements.findZone, PostgresParameters(zone)) }
      }
    let standing = TextMap(zip(unlocked, there).map { ($0, $1) })
    var held: TextSet = []
    for (zone, start) in zip(zones, starts) {
      held.formUnion(fetched.learn(zones: answers[start], there: standing[zone] ?? answers[start], [zone]))
      if (fetched.zones[zone] ?? nil) == nil { continue }
      for user in joined.users { fetched.roles[ZoneUser(zone: zone, user: user)] = .some(nil) }
      fetched.learn(roles: answers[start + 1])
    }
    fetched.records = entries(places, found.map { ($0.zone, $0.table, answers[$0.number]) })
    fetched.wait(footprints, held: held, busy: [])
    return fetched
  }

  /// Reads records in whichever zone they are.
  package func read(_ ids: [String], of table: Int) throws -> [RecordEntry] {
    var known: [Footprint.Key: RecordEntry] = [:]
    var missing = ids
    // Records that move between the two look-ups are read again.
    while !missing.isEmpty {
      let places = try find([table: missing])
      var zones: TextMap<[String]> = [:]
      for (key, places) in places {
        for (zone, place) in places where place.state != .departed { zones[zone, default: []].append(key.id) }
      }
      let wanted = zones.sorted { $0.key < $1.key }
      let answers = try store.connection.pipeline { pipe in
        for (zone, ids) in wanted {
          var parameters = PostgresParameters(zone)
          parameters.append(array: ids)
          pipe.send(statements.records[table].find, parameters)
        }
      }
      known.merge(entries(places, zip(wanted, answers).map { ($0.key, table, $1) })) { $1 }
      missing.removeAll { known[Footprint.Key(table: table, id: $0)] != nil }
    }
    return ids.map { known[Footprint.Key(table: table, id: $0)] ?? RecordEntry() }
  }

  /// The ledger rows of records, with an entry for each requested record.
  private func find(_ wanted: [Int: [String]]) throws(PostgresError) -> Places {
    var places: Places = [:]
    if wanted.isEmpty { return places }
    let tables = wanted.keys.sorted()
    let answers = try store.connection.pipeline { pipe in
      for table in tables {
        var parameters = PostgresParameters(store.schema.tables[table].name)
        parameters.append(array: wanted[table] ?? [])
        pipe.send(PostgresShardStatements.findPlaces, parameters)
      }
    }
    for (table, rows) in zip(tables, answers) {
      for id in wanted[table] ?? [] { places[Footprint.Key(table: table, id: id)] = RecordPlaces() }
      for row in rows.indices {
        let key = Footprint.Key(table: table, id: rows.text(row, 0))
        places[key, default: RecordPlaces()][rows.text(row, 1)] = RecordPlace(rows, row)
      }
    }
    return places
  }

  /// Combines the look-up with the reads per zone. Omits records that have moved in between.
  private func entries(_ places: Places, _ found: [(zone: String, table: Int, rows: PostgresRows)])
    -> [Footprint.Key: RecordEntry]
  {
    var entries = places.mapValues { places in
      var entry = RecordEntry()
      entry.places = RecordPlaces(places.filter { $0.place.state == .departed })
      return entry
    }
    for (_, table, rows) in found {
      for row in rows.indices {
        entries[Footprint.Key(table: table, id: rows.text(row, 0))]?
          .add(rows, row, store.layout.relations[table].columns)
      }
    }
    return entries.filter { key, entry in
      guard let places = places[key] else { return true }
      return places.allSatisfy { zone, place in
        place.state == .departed || entry.places[zone].map { $0.state != .departed } ?? false
      }
    }
  }
}
