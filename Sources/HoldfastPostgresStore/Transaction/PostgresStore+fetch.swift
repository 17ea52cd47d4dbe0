import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension PostgresStore {
  /// What a batch of commands wants, gathered; each thing once.
  struct JoinedFootprint {
    var devices: [Int64] = []
    var users: [String] = []
    var zones: [String] = []
    /// The ids by table: the written ones that are probably there, these and the parents, and the created ones. Of the last nothing is locked:
    /// the few that are there are locked on demand.
    var written: [Int: [String]] = [:]
    var wanted: [Int: [String]] = [:]
    var created: [Int: [String]] = [:]
    /// Whose roles are wanted: in zones, and in those of records.
    var members: [ZoneUser] = []
    var readers: [(key: Footprint.Key, user: String)] = []

    init(_ footprints: [Footprint]) {
      var (users, zones, members): (TextSet, TextSet, Set<ZoneUser>) = ([], [], [])
      var (written, wanted, created): (Set<Footprint.Key>, Set<Footprint.Key>, Set<Footprint.Key>) = (
        [], [], []
      )
      for footprint in footprints {
        if let device = footprint.device { devices.append(device.number) }
        if let user = footprint.user, users.insert(user).inserted { self.users.append(user) }
        for zone in footprint.zones {
          if zones.insert(zone).inserted { self.zones.append(zone) }
          guard let user = footprint.user else { continue }
          let member = ZoneUser(zone: zone, user: user)
          if members.insert(member).inserted { self.members.append(member) }
        }
        for key in footprint.created where created.insert(key).inserted {
          self.created[key.table, default: []].append(key.id)
        }
        for key in footprint.records where !created.contains(key) && written.insert(key).inserted {
          self.written[key.table, default: []].append(key.id)
        }
        var own: Set<Footprint.Key> = []
        for key in footprint.records + footprint.parents
        where !created.contains(key) && own.insert(key).inserted {
          if wanted.insert(key).inserted { self.wanted[key.table, default: []].append(key.id) }
          if let user = footprint.user { readers.append((key, user)) }
        }
      }
    }

    /// The parameters of `PostgresStatements.findRoles`.
    func roles(_ layout: PostgresLayout) -> PostgresParameters {
      var parameters = PostgresParameters()
      parameters.append(array: members.lazy.map(\.zone))
      parameters.append(array: members.lazy.map(\.user))
      parameters.append(array: readers.lazy.map { layout.relations[$0.key.table].table })
      parameters.append(array: readers.lazy.map(\.key.id))
      parameters.append(array: readers.lazy.map(\.user))
      return parameters
    }
  }

  /// From how many written records of a command on it is asked whether the tables keep them as they are written.
  private static let manyRecords = 64

  /// Begins the transaction, locks and reads, in one round trip.
  package func fetch(_ footprints: [Footprint]) throws(PostgresError) -> Fetched {
    let joined = JoinedFootprint(footprints)
    var locked: [(table: Int, number: Int)] = []
    var found: [(table: Int, ids: [String], number: Int)] = []
    var (devices, refusals, acks, zones, there, roles, names) = (-1, -1, -1, -1, -1, -1, -1)
    var (configured, history, triggers, exact, verbatim) = (-1, -1, -1, -1, -1)
    var asked = 0
    var requests: PostgresRequests.Asked?
    let connection = try link
    let connections = cache?.connections ?? 0
    let answers = try connection.pipeline { pipe in
      configured = sendBegin(pipe)
      history = pipe.send(statements.findHistory)
      if memory.wantsTraits {
        let names = layout.relations.map(\.name)
        triggers = pipe.send(PostgresStatements.findTriggers, PostgresParameters(array: names))
        exact = pipe.send(PostgresStatements.findVerbatim, PostgresParameters(array: names))
      }
      if !joined.devices.isEmpty {
        let numbers = PostgresParameters(array: joined.devices)
        devices = pipe.send(statements.lockDevices, numbers)
        refusals = pipe.send(PostgresStatements.findRefusals, numbers)
        acks = pipe.send(PostgresStatements.countAcks, numbers)
      }
      requests = PostgresRequests.Asked(footprints, schema, pipe)
      for (table, ids) in joined.written.sorted(by: { $0.key < $1.key }) {
        var parameters = PostgresParameters()
        // The table contains no other ids, and its type would reject them.
        parameters.append(array: ids.filter { layout.relations[table].takes($0) })
        locked.append((table, pipe.send(statements.records[table].lock, parameters)))
      }
      let written = Set(joined.written.keys).union(joined.created.keys).map { layout.relations[$0] }
      // Where the database may fill a column in, a record is not as it was sent.
      if footprints.contains(where: { $0.records.count + $0.created.count >= Self.manyRecords }),
        !written.contains(where: \.isFilled)
      {
        let relations = written.map(\.name).sorted()
        asked = relations.count
        pipe.send(PostgresStatements.keepFromChanging(relations))
        verbatim = pipe.send(PostgresStatements.findVerbatim, PostgresParameters(array: relations))
      }
      guard !joined.zones.isEmpty || !joined.wanted.isEmpty || !joined.created.isEmpty else { return }
      var keys = PostgresParameters()
      keys.append(array: joined.zones)
      keys.append(
        array: joined.wanted.flatMap { table, ids in ids.map { _ in layout.relations[table].table } })
      keys.append(array: joined.wanted.flatMap(\.value))
      zones = pipe.send(statements.lockZones, keys)
      there = pipe.send(PostgresStatements.findZones, keys)
      let users = PostgresParameters(array: joined.users)
      roles = pipe.send(PostgresStatements.findRoles, joined.roles(layout))
      names = pipe.send(PostgresStatements.findNames, users)
      for (table, ids) in Array(joined.wanted) + Array(joined.created) {
        found.append((table, ids, pipe.send(statements.records[table].find, PostgresParameters(array: ids))))
      }
    }
    transaction = answers[configured].int64(0, 0)
    let snapshot = answers[configured].text(0, 1)
    if remembers { memory.begin(transaction, after: snapshot) }
    enter(SnapshotState(snapshot, connections: connections))
    isVerbatim = verbatim >= 0 && answers[verbatim].count == asked
    try learn(history: answers[history])
    var fetched = Fetched()
    for device in joined.devices { fetched.devices[device] = .some(nil) }
    if devices >= 0 {
      fetched.learn(devices: answers[devices], refusals: answers[refusals], acks: answers[acks])
    }
    requests?.learn(answers, &fetched)
    var held: TextSet = []
    if zones >= 0 {
      held = fetched.learn(zones: answers[zones], there: answers[there], joined.zones)
      fetched.learn(roles: answers[roles])
      accountTable.learn(names: answers[names])
    }
    for (table, ids, number) in found {
      for (id, entry) in zip(ids, entries(answers[number], of: table, ids)) {
        fetched.records[Footprint.Key(table: table, id: id)] = entry
      }
    }
    // The slow lane skips no device: one that it has not found is gone.
    fetched.wait(
      footprints, skipsDevices: lane == .fast, held: held, busy: busy(among: locked, joined, answers, fetched)
    )
    if triggers >= 0 {
      let rows = answers[exact]
      let tables = rows.indices.map { Int(rows.int64($0, 0)) - 1 }.filter { !layout.relations[$0].isFilled }
      memory.learn(.init(hasTriggers: answers[triggers].bool(0, 0), verbatim: Set(tables)))
    }
    memory.learn(fetched)
    return fetched
  }

  /// Begins the transaction.
  ///
  /// - Returns: the index of the answer with its number, and the snapshot before it.
  @discardableResult
  func sendBegin(_ pipe: PostgresPipeline) -> Int {
    pipe.send(PostgresStatements.begin)
    let configured = pipe.send(
      PostgresStatements.configure, PostgresParameters("\(Int64(patience / .milliseconds(1)))ms"))
    pipe.send(PostgresEpoch.share)
    return configured
  }

  /// The records that another transaction has locked.
  private func busy(
    among locked: [(table: Int, number: Int)], _ joined: JoinedFootprint, _ answers: [PostgresRows],
    _ fetched: Fetched
  ) -> Set<Footprint.Key> {
    var busy: Set<Footprint.Key> = []
    for (table, number) in locked {
      let free = TextSet(answers[number].indices.map { answers[number].text($0, 0) })
      for id in joined.written[table] ?? [] where !free.contains(id) {
        let key = Footprint.Key(table: table, id: id)
        if fetched.records[key]?.home != nil { busy.insert(key) }
      }
    }
    return busy
  }

  /// Decodes records from ledger rows of one table with their values, in the order of `ids`.
  func entries(_ rows: PostgresRows, of table: Int, _ ids: [String]) -> [RecordEntry] {
    var entries: TextMap<RecordEntry> = [:]
    for row in rows.indices {
      entries[rows.text(row, 0), default: RecordEntry()].add(rows, row, layout.relations[table].columns)
    }
    return ids.map { entries[$0] ?? RecordEntry() }
  }
}

extension Fetched {
  /// Defers the commands whose device, zone or record another transaction has locked.
  mutating func wait(
    _ footprints: [Footprint], skipsDevices: Bool, held: TextSet, busy: Set<Footprint.Key>
  ) {
    for (index, footprint) in footprints.enumerated() {
      let isDeviceHeld = skipsDevices && footprint.device.map { (devices[$0.number] ?? nil) == nil } ?? false
      func isHeld(_ key: Footprint.Key) -> Bool {
        records[key]?.places.contains { $0.state != .departed && held.contains($0.zone) } ?? false
      }
      let isZoneHeld =
        !held.isEmpty
        && (footprint.zones.contains { held.contains($0) }
          || [footprint.records, footprint.created, footprint.parents].contains { $0.contains(where: isHeld) })
      let isRecordHeld =
        !busy.isEmpty
        && [footprint.records, footprint.created].contains { $0.contains(where: busy.contains) }
      if isDeviceHeld || isZoneHeld || isRecordHeld { waiting.insert(index) }
    }
  }

  mutating func learn(devices rows: PostgresRows, refusals: PostgresRows, acks: PostgresRows) {
    for row in rows.indices { devices[rows.int64(row, 0)] = .some(DeviceRow(rows, row)) }
    for row in refusals.indices {
      devices[refusals.int64(row, 0)]??.refusals.append(refusals.int64(row, 1))
    }
    for row in acks.indices { devices[acks.int64(row, 0)]??.ackCount = Int(acks.int64(row, 1)) }
  }

  /// - Returns: the zones that another transaction has locked.
  mutating func learn(zones rows: PostgresRows, there: PostgresRows, _ named: [String]) -> TextSet {
    let existing = TextSet(there.indices.map { there.text($0, 0) })
    for zone in named where !existing.contains(zone) { zones[zone] = .some(nil) }
    for row in rows.indices {
      zones[rows.text(row, 0)] = .some(LockedZone(rows, row))
      clock = max(clock, Stamp(rawValue: rows.int64(row, 3)))
    }
    return existing.filter { (zones[$0] ?? nil) == nil }
  }

  /// Takes the roles in zones, with null for who has none.
  mutating func learn(roles rows: PostgresRows) {
    for row in rows.indices {
      let member = ZoneUser(zone: rows.text(row, 0), user: rows.text(row, 1))
      if (zones[member.zone] ?? nil) == nil { continue }
      roles[member] = .some(rows.optionalText(row, 2).flatMap { Role(rawValue: $0) })
    }
  }
}

extension DeviceRow {
  /// The columns of a locked device.
  package static let columns = """
    number, id, account, token_hash, confirmed, chain, acknowledged_refusals, applied, issued_after, acks_purged, \
    unseen_since_restore, clock, session_used, seen_at
    """

  /// Decodes a device, its refusals and the count of its acks; nil for an unknown device.
  init?(_ answers: [PostgresRows]) {
    if answers[0].isEmpty { return nil }
    self.init(answers[0], 0)
    refusals = answers[1].indices.map { answers[1].int64($0, 1) }
    ackCount = answers[2].isEmpty ? 0 : Int(answers[2].int64(0, 1))
  }

  /// Decodes a device from a row with the columns of `columns`. Separate rows count its acks.
  package init(_ rows: PostgresRows, _ row: Int) {
    self.init(
      DeviceState(
        id: rows.text(row, 1), user: rows.text(row, 2), confirmed: rows.int64(row, 4),
        chain: Fingerprint(value: UInt64(bitPattern: rows.int64(row, 5))),
        acknowledgedRefusals: rows.int64(row, 6), applied: AppliedChangeSets(bytes: rows.bytes(row, 7)),
        clock: Stamp(rawValue: rows.int64(row, 11)), seenAt: rows.int64(row, 13),
        isSessionUsed: rows.bool(row, 12),
        issuedAfter: rows.isNull(row, 8) ? nil : rows.int64(row, 8), hasPurgedAcks: rows.bool(row, 9),
        isUnseenSinceRestore: rows.bool(row, 10)),
      token: rows.optionalBytes(row, 3), ackCount: 0)
  }
}

extension LockedZone {
  /// Decodes a zone from a row with its name, seq, public, clock, records, bytes and left_for.
  package init(_ rows: PostgresRows, _ row: Int) {
    self.init(
      seq: rows.int64(row, 1), isPublic: rows.bool(row, 2),
      counts: ZoneCounts(records: rows.int64(row, 4), bytes: rows.int64(row, 5)),
      leftFor: rows.optionalText(row, 6))
  }
}
