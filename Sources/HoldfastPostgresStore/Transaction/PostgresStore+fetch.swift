package import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension PostgresStore {
  /// What a batch of commands wants, gathered.
  struct JoinedFootprint {
    var devices: [Int64] = []
    var users: [String] = []
    var zones: [String] = []
    /// The ids by table: those that are written, and all.
    var written: [Int: [String]] = [:]
    var wanted: [Int: [String]] = [:]

    init(_ footprints: [Footprint]) {
      for footprint in footprints {
        if let device = footprint.device { devices.append(device.number) }
        if let user = footprint.user { users.append(user) }
        zones += footprint.zones
        for key in footprint.records {
          written[key.table, default: []].append(key.id)
          wanted[key.table, default: []].append(key.id)
        }
        for key in footprint.parents { wanted[key.table, default: []].append(key.id) }
      }
    }
  }

  /// Begins the transaction, locks and reads in one round trip.
  ///
  /// - Returns: the commands whose device, zone or record somebody else has locked.
  package func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Set<Int> {
    let joined = JoinedFootprint(footprints)
    var locked: [(table: Int, number: Int)] = []
    var found: [(table: Int, number: Int)] = []
    var (devices, refusals, acks, zones, there, roles, names) = (-1, -1, -1, -1, -1, -1, -1)
    var (configured, history) = (-1, -1)
    var requests = PostgresRequests.Asked()
    let answers = try connection.pipeline { pipe in
      pipe.send(PostgresStatements.begin)
      configured = pipe.send(PostgresStatements.configure, PostgresParameters(lane == .fast ? "500ms" : "1s"))
      pipe.send(PostgresEpoch.share)
      history = pipe.send(PostgresEpoch.find)
      if !joined.devices.isEmpty {
        var numbers = PostgresParameters()
        numbers.append(array: joined.devices)
        devices = pipe.send(statements.lockDevices, numbers)
        refusals = pipe.send(PostgresStatements.findRefusals, numbers)
        acks = pipe.send(PostgresStatements.countAcks, numbers)
      }
      requests = requestTable.ask(footprints, pipe)
      for (table, ids) in joined.written.sorted(by: { $0.key < $1.key }) {
        var parameters = PostgresParameters()
        // No record of the table has any other; its type would not even take one.
        parameters.append(array: ids.filter { layout.relations[table].takes($0) })
        locked.append((table, pipe.send(statements.records[table].lock, parameters)))
      }
      guard !joined.zones.isEmpty || !joined.wanted.isEmpty else { return }
      var keys = PostgresParameters()
      keys.append(array: joined.zones)
      keys.append(
        array: joined.wanted.flatMap { table, ids in ids.map { _ in layout.relations[table].table } })
      keys.append(array: joined.wanted.flatMap(\.value))
      zones = pipe.send(statements.lockZones, keys)
      there = pipe.send(PostgresStatements.findZones, keys)
      var users = PostgresParameters()
      users.append(array: joined.users)
      keys.append(array: joined.users)
      roles = pipe.send(PostgresStatements.findRoles, keys)
      names = pipe.send(PostgresStatements.findNames, users)
      for (table, ids) in joined.wanted {
        var parameters = PostgresParameters()
        parameters.append(array: ids)
        found.append((table, pipe.send(statements.records[table].find, parameters)))
      }
    }
    transaction = answers[configured].int64(0, 0)
    try learn(history: answers[history])
    if devices >= 0 { learn(devices: answers[devices], refusals: answers[refusals], acks: answers[acks]) }
    requestTable.learn(requests, answers)
    var held: TextSet = []
    if zones >= 0 {
      held = learn(zones: answers[zones], there: answers[there], joined.zones)
      learn(roles: answers[roles], of: Array(zoneTable.known.keys), users: joined.users)
      learn(names: answers[names])
    }
    for (table, number) in found {
      learn(answers[number], of: table, ids: joined.wanted[table] ?? [])
    }
    var busy: Set<Footprint.Key> = []
    for (table, number) in locked {
      let free = TextSet(answers[number].indices.map { answers[number].text($0, 0) })
      for id in joined.written[table] ?? [] where !free.contains(id) {
        let key = Footprint.Key(table: table, id: id)
        if working[key]?.home != nil { busy.insert(key) }
      }
    }
    return waiting(footprints, held: held, busy: busy)
  }

  package func waiting(
    _ footprints: [Footprint], held: TextSet, busy: Set<Footprint.Key>
  ) -> Set<Int> {
    var waiting: Set<Int> = []
    for (index, footprint) in footprints.enumerated() {
      let isDeviceHeld = footprint.device.map { deviceTable.rows[$0.number] == nil } ?? false
      let isZoneHeld =
        !held.isEmpty
        && (footprint.zones.contains { held.contains($0) }
          || (footprint.records + footprint.parents).contains { key in
            working[key]?.places.contains { $0.value.state != .departed && held.contains($0.key) } ?? false
          })
      let isRecordHeld = !busy.isEmpty && footprint.records.contains { busy.contains($0) }
      if isDeviceHeld || isZoneHeld || isRecordHeld { waiting.insert(index) }
    }
    return waiting
  }

  func learn(devices: PostgresRows, refusals: PostgresRows, acks: PostgresRows) {
    for row in devices.indices {
      deviceTable.rows[devices.int64(row, 0)] = PostgresDevices.Row(
        id: devices.text(row, 1), user: devices.text(row, 2), token: devices.optionalBytes(row, 3),
        confirmed: devices.int64(row, 4), chain: devices.int64(row, 5),
        acknowledgedRefusals: devices.int64(row, 6),
        applied: devices.bytes(row, 7),
        issuedAfter: devices.isNull(row, 8) ? nil : devices.int64(row, 8), clock: devices.int64(row, 11),
        isSessionUsed: devices.bool(row, 12), hasPurgedAcks: devices.bool(row, 9),
        isUnseenSinceRestore: devices.bool(row, 10))
    }
    for row in refusals.indices {
      deviceTable.rows[refusals.int64(row, 0)]?.refusals.append(refusals.int64(row, 1))
    }
    for row in acks.indices { deviceTable.rows[acks.int64(row, 0)]?.ackCount = acks.int64(row, 1) }
  }

  /// - Returns: the zones that somebody else has locked.
  func learn(zones: PostgresRows, there: PostgresRows, _ named: [String]) -> TextSet {
    let existing = TextSet(there.indices.map { there.text($0, 0) })
    for zone in named where !existing.contains(zone) { zoneTable.known[zone] = .some(nil) }
    for row in zones.indices {
      zoneTable.known[zones.text(row, 0)] = PostgresZones.Zone(zones, row)
    }
    return existing.filter { !zoneTable.isLocked($0) }
  }

  func learn(roles: PostgresRows, of zones: [String], users: [String]) {
    for zone in zones where zoneTable.isLocked(zone) {
      for user in users { zoneTable.roles[PostgresZones.Membership(zone: zone, user: user)] = .some(nil) }
    }
    for row in roles.indices {
      let membership = PostgresZones.Membership(zone: roles.text(row, 0), user: roles.text(row, 1))
      if zoneTable.isLocked(membership.zone) {
        zoneTable.roles[membership] = .some(Role(rawValue: roles.text(row, 2)))
      }
    }
  }

  func learn(names: PostgresRows) {
    for row in names.indices { accountTable.names[names.text(row, 0)] = names.text(row, 1) }
  }

  /// Takes in rows of the ledger of one table, with their values.
  func learn(_ rows: PostgresRows, of table: Int, ids: [String]) {
    var entries: TextMap<PostgresWorkingSet.Entry> = [:]
    for id in ids { entries[id] = PostgresWorkingSet.Entry() }
    let columns = layout.relations[table].columns
    for row in rows.indices {
      let id = rows.text(row, 0)
      let place = PostgresWorkingSet.Place(rows, row)
      entries[id, default: .init()].places[rows.text(row, 1)] = place
      if place.state == .live {
        entries[id]?.values = columns.indices.map {
          rows.value(row, PostgresWorkingSet.Place.end + $0, columns[$0].type)
        }
      }
    }
    for (id, entry) in entries { working.learn(Footprint.Key(table: table, id: id), entry) }
  }

  /// A record as it is now, as far as that can be said without the lock of its zone.
  func glance(_ key: Footprint.Key) throws -> PostgresWorkingSet.Entry {
    if let known = working[key] { return known }
    try writing.read([key.id], of: key.table)
    return working[key] ?? PostgresWorkingSet.Entry()
  }

  /// A record as it is, and stays for others until the end of the transaction: the zones that it is in are locked. A zone that is not
  /// there can't be: its records can be read, and a change of one fails.
  package func entry(_ key: Footprint.Key) throws -> PostgresWorkingSet.Entry {
    var asked: TextSet = []
    while true {
      let entry = try glance(key)
      let open = unlocked(entry).subtracting(asked)
      if open.isEmpty || working.changed[key] != nil { return entry }
      for zone in open.sorted() { try zoneTable.lock(zone) }
      asked.formUnion(open)
      // It may have changed before the lock was had.
      try writing.read([key.id], of: key.table)
    }
  }

  /// Reads records that are looked at soon, and locks their zones.
  func prefetch(_ table: Int, _ ids: [String]) throws {
    let unknown = ids.filter { working[Footprint.Key(table: table, id: $0)] == nil }
    if unknown.isEmpty { return }
    try writing.read(unknown, of: table)
    var open: TextSet = []
    for id in unknown {
      if let entry = working[Footprint.Key(table: table, id: id)] { open.formUnion(unlocked(entry)) }
    }
    if open.isEmpty { return }
    for zone in open.sorted() { try zoneTable.lock(zone) }
    // They may have changed before the locks were had.
    try writing.read(unknown, of: table)
  }

  /// The zones that hold a record or its tombstone, and are not locked yet.
  private func unlocked(_ entry: PostgresWorkingSet.Entry) -> TextSet {
    TextSet(
      entry.places.lazy.filter { [zoneTable] in $0.value.state != .departed && !zoneTable.isLocked($0.key) }
        .map(\.key))
  }
}

extension PostgresWorkingSet.Place {
  /// The state of a row of the ledger, `r`, whose record is looked up as `t`: one that its table lacks, as it was changed behind the triggers,
  /// is deleted to who edits it.
  package static let state = "CASE WHEN r.state = 0 AND t.id IS NULL THEN 1 ELSE r.state END"

  /// What follows `id`, `zone` and `state` where `r` is read as a place, and how many columns these are together.
  package static let columns = "r.seq, r.rev, r.stamps, r.stamp, r.device, r.deleted_seq, r.size"
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
