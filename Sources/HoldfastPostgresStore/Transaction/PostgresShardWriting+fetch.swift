import HoldfastCore
import HoldfastPostgres
import HoldfastService

extension PostgresShardWriting {
  /// The rows of the ledger of records, as they were found without locks.
  private typealias Places = [Footprint.Key: TextMap<PostgresWorkingSet.Place>]

  /// Looks up in which zones the records are, then begins the transaction, locks and reads, a zone at a time.
  package func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Set<Int> {
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
    var requests = PostgresRequests.Asked()
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
      requests = store.requestTable.ask(footprints, pipe)
      if !joined.users.isEmpty {
        var users = PostgresParameters()
        users.append(array: joined.users)
        names = pipe.send(PostgresStatements.findNames, users)
      }
      for zone in zones {
        starts.append(pipe.send(statements.lockZone, PostgresParameters(zone)))
        pipe.send(PostgresShardStatements.findZone, PostgresParameters(zone))
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
    for index in joined.devices.indices {
      let start = 4 + 3 * index
      store.learn(devices: answers[start], refusals: answers[start + 1], acks: answers[start + 2])
    }
    if names >= 0 { store.learn(names: answers[names]) }
    store.requestTable.learn(requests, answers)
    var held: TextSet = []
    for (zone, start) in zip(zones, starts) {
      held.formUnion(store.learn(zones: answers[start], there: answers[start + 1], [zone]))
      store.learn(roles: answers[start + 2], of: [zone], users: joined.users)
    }
    learn(places, found.map { ($0.zone, $0.table, answers[$0.number]) })
    return store.waiting(footprints, held: held, busy: [])
  }

  /// Reads a record, wherever it is.
  package func read(_ ids: [String], of table: Int) throws {
    if ids.isEmpty { return }
    let places = try find([table: ids])
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
    learn(places, zip(wanted, answers).map { ($0.key, table, $1) })
    // They moved between the two.
    try read(ids.filter { store.working[Footprint.Key(table: table, id: $0)] == nil }, of: table)
  }

  /// The rows of the ledger of records; each record has an entry.
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
      for id in wanted[table] ?? [] { places[Footprint.Key(table: table, id: id)] = [:] }
      for row in rows.indices {
        let key = Footprint.Key(table: table, id: rows.text(row, 0))
        places[key, default: [:]][rows.text(row, 1)] = PostgresWorkingSet.Place(rows, row)
      }
    }
    return places
  }

  /// Takes in records that were looked up, and then read in the zones that they are in. Those that had gone from there meanwhile stay unknown:
  /// they are looked up again when they are asked for.
  private func learn(_ places: Places, _ found: [(zone: String, table: Int, rows: PostgresRows)]) {
    var entries = places.mapValues { places in
      PostgresWorkingSet.Entry(places: places.filter { $0.value.state == .departed })
    }
    for (zone, table, rows) in found {
      let columns = store.layout.relations[table].columns
      for row in rows.indices {
        let key = Footprint.Key(table: table, id: rows.text(row, 0))
        let place = PostgresWorkingSet.Place(rows, row)
        entries[key]?.places[zone] = place
        if place.state != .live { continue }
        entries[key]?.values = columns.indices.map {
          rows.value(row, PostgresWorkingSet.Place.end + $0, columns[$0].type)
        }
      }
    }
    for (key, entry) in entries {
      let wasIn = (places[key] ?? [:]).filter { $0.value.state != .departed }.keys
      if wasIn.allSatisfy({ entry.places[$0].map { $0.state != .departed } ?? false }) {
        store.working.learn(key, entry)
      }
    }
  }
}
