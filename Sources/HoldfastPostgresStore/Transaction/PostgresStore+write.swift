import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension PostgresStore {
  private static let addZones: PostgresStatement =
    "INSERT INTO holdfast.zones (zone, seq) SELECT zone, 0 FROM unnest($1::text[]) AS u (zone)"
  private static let moveZones: PostgresStatement = """
    UPDATE holdfast.zones z SET seq = u.seq, clock = greatest(z.clock, u.clock), records = greatest(0, u.records),
      bytes = greatest(0, u.bytes)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (zone, seq, clock, records, bytes)
    WHERE z.zone = u.zone
    """
  private static let putRoles: PostgresStatement = """
    INSERT INTO holdfast.access (zone, "user", role) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])
    ON CONFLICT (zone, "user") DO UPDATE SET role = excluded.role
    """
  private static let dropRoles: PostgresStatement = """
    DELETE FROM holdfast.access a USING unnest($1::text[], $2::text[]) AS u (zone, name)
    WHERE a.zone = u.zone AND a."user" = u.name
    """
  private static let dropPlaces: PostgresStatement = """
    DELETE FROM holdfast.records r USING unnest($1::text[], $2::text[], $3::text[]) AS u (record_table, id, zone)
    WHERE r.record_table = u.record_table AND r.id = u.id AND r.zone = u.zone
    """
  private static let putPlaces: PostgresStatement = """
    INSERT INTO holdfast.records (zone, seq, record_table, id, rev, state, stamps, stamp, device, deleted_seq, size)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[],
      $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
    ON CONFLICT (record_table, id, zone) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, state = excluded.state,
      stamps = excluded.stamps, stamp = excluded.stamp, device = excluded.device, deleted_seq = excluded.deleted_seq,
      size = excluded.size
    """
  private static let moveDevices: PostgresStatement = """
    UPDATE holdfast.devices d SET confirmed = u.confirmed, chain = u.chain, acknowledged_refusals = u.acknowledged_refusals, clock = u.clock,
      seen_at = u.seen_at, session_used = true, unseen_since_restore = false, applied = u.applied
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[])
      AS u (number, confirmed, chain, acknowledged_refusals, clock, applied, seen_at) WHERE d.number = u.number
    """
  private static let dropRefusals: PostgresStatement = """
    DELETE FROM holdfast.refusals r USING unnest($1::bigint[], $2::bigint[]) AS u (device, last)
    WHERE r.device = u.device AND r.last <= u.last
    """
  private static let addRefusals: PostgresStatement = """
    INSERT INTO holdfast.refusals (device, first, last, operation, problem)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
    """
  private static let clearAcks: PostgresStatement =
    "DELETE FROM holdfast.acks WHERE device = ANY ($1) AND NOT lost"
  private static let dropAcks: PostgresStatement = """
    DELETE FROM holdfast.acks a USING unnest($1::bigint[], $2::text[]) AS u (device, zone)
    WHERE a.device = u.device AND a.zone = u.zone
    """
  // A zone that was lost in between must be resynced, or given up.
  private static let putAcks: PostgresStatement = """
    INSERT INTO holdfast.acks AS a (device, zone, epoch, seq, purged, lost)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::boolean[])
    ON CONFLICT (device, zone) DO UPDATE
    SET epoch = excluded.epoch, seq = excluded.seq, purged = excluded.purged, lost = a.lost AND excluded.epoch <> ''
    """
  private static let noteLosses: PostgresStatement = """
    UPDATE holdfast.acks a SET lost = true FROM unnest($1::text[], $2::text[]) AS u (zone, account)
    JOIN holdfast.devices d ON d.account = u.account WHERE a.zone = u.zone AND a.device = d.number
    """

  private static let countLosses: PostgresStatement = """
    UPDATE holdfast.accounts a SET losses = a.losses + u.sum FROM unnest($1::text[], $2::bigint[]) AS u (account, sum)
    WHERE a.id = u.account
    """

  /// Writes all that has changed, in one round trip; see `PostgresWriting`.
  package func write(andCommit changes: ZoneChanges?) throws(PostgresError) {
    let changed = working.changed
    if changed.isEmpty, changes == nil { return }
    let parking = PostgresParking(self)
    try connection.pipeline { pipe in
      writeZones(pipe)
      if !changed.isEmpty {
        writePlaces(changed, pipe)
        parking.send(self, pipe)
        writeRecords(changed, parking, pipe)
      }
      if let changes {
        writeRoles(pipe)
        consentTable.write(to: pipe)
        writeDevices(pipe)
        writeAcks(pipe)
        PostgresRequestStatements.write(requestTable, isDistributed: false, pipe)
        for payload in changes.payloads(from: node) {
          pipe.send(PostgresStatements.notify, PostgresParameters(payload))
        }
        pipe.send(PostgresStatements.commit)
      }
    }
    working.settle()
    lists.removeAll()
  }

  private func writeRoles(_ pipe: PostgresPipeline) {
    let changes = zoneTable.changed
    let (given, taken) = (changes.filter { $0.value != nil }, changes.filter { $0.value == nil }.keys)
    if !given.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: given.lazy.map(\.key.zone))
      parameters.append(array: given.lazy.map(\.key.user))
      parameters.append(array: given.lazy.map { $0.value?.rawValue })
      pipe.send(Self.putRoles, parameters)
    }
    if !taken.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: taken.lazy.map(\.zone))
      parameters.append(array: taken.lazy.map(\.user))
      pipe.send(Self.dropRoles, parameters)
    }
  }

  private func writeZones(_ pipe: PostgresPipeline) {
    let made = zonesMade[zonesWritten...]
    if !made.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: made)
      pipe.send(Self.addZones, parameters)
      zonesWritten = zonesMade.count
    }
    if !zonesMoved.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: zonesMoved.lazy.map(\.zone))
      parameters.append(array: zonesMoved.lazy.map(\.seq))
      parameters.append(array: zonesMoved.lazy.map(\.clock))
      parameters.append(array: zonesMoved.lazy.map(\.counts.records))
      parameters.append(array: zonesMoved.lazy.map(\.counts.bytes))
      pipe.send(Self.moveZones, parameters)
    }
  }

  private func writePlaces(
    _ changed: [Footprint.Key: PostgresWorkingSet.Entry], _ pipe: PostgresPipeline
  ) {
    var dropped: [(key: Footprint.Key, zone: String)] = []
    var put: [(key: Footprint.Key, zone: String, place: PostgresWorkingSet.Place)] = []
    for (key, entry) in changed {
      let before = working.stored[key]?.places ?? [:]
      for zone in before.keys where entry.places[zone] == nil { dropped.append((key, zone)) }
      for (zone, place) in entry.places where before[zone] != place { put.append((key, zone, place)) }
    }
    if !dropped.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: dropped.lazy.map { self.schema.tables[$0.key.table].name })
      parameters.append(array: dropped.lazy.map(\.key.id))
      parameters.append(array: dropped.lazy.map(\.zone))
      pipe.send(Self.dropPlaces, parameters)
    }
    if put.isEmpty { return }
    var parameters = PostgresParameters()
    parameters.append(array: put.lazy.map(\.zone))
    parameters.append(array: put.lazy.map(\.place.seq))
    parameters.append(array: put.lazy.map { self.schema.tables[$0.key.table].name })
    parameters.append(array: put.lazy.map(\.key.id))
    parameters.append(array: put.lazy.map(\.place.rev))
    parameters.append(array: put.lazy.map(\.place.state.rawValue))
    parameters.append(array: put.lazy.map(\.place.stamps))
    parameters.append(array: put.lazy.map(\.place.stamp))
    parameters.append(array: put.lazy.map(\.place.device))
    parameters.append(array: put.lazy.map(\.place.deletedSeq))
    parameters.append(array: put.lazy.map(\.place.size))
    pipe.send(Self.putPlaces, parameters)
  }

  /// Writes the tables: new records parents first, then changes, then deletions children first.
  private func writeRecords(
    _ changed: [Footprint.Key: PostgresWorkingSet.Entry], _ parking: PostgresParking,
    _ pipe: PostgresPipeline
  ) {
    var added: [Int: [Row]] = [:]
    var edited: [Int: [[Int]: [Row]]] = [:]
    var removed: [Int: [String]] = [:]
    var touched: Set<Int> = []
    for (key, entry) in changed {
      let before = working.stored[key]
      if let home = before?.home, home != entry.home { touched.insert(key.table) }
      switch (before?.values, entry.values) {
      case (nil, nil): continue
      case (nil, let values?):
        added[key.table, default: []].append(Row(id: key.id, zone: entry.home ?? "", values: values))
      case (_?, nil): removed[key.table, default: []].append(key.id)
      case (let old?, let values?):
        let again = parking.columns(of: key)
        let columns = values.indices.filter { old[$0] != values[$0] || again.contains($0) }
        if columns.isEmpty, !layout.relations[key.table].hasZone || before?.home == entry.home { continue }
        edited[key.table, default: [:]][columns, default: []]
          .append(Row(id: key.id, zone: entry.home ?? "", values: values))
      }
    }
    for table in layout.order {
      guard let rows = added[table] else { continue }
      send(rows, to: table, columns: Array(schema.tables[table].columns.indices), isNew: true, pipe)
    }
    for table in layout.order {
      for (columns, rows) in edited[table] ?? [:] {
        send(rows, to: table, columns: columns, isNew: false, pipe)
      }
    }
    for table in layout.order.reversed() {
      guard let ids = removed[table] else { continue }
      var parameters = PostgresParameters()
      parameters.append(array: ids)
      pipe.send(statements.records[table].delete, parameters)
    }
    if touched.isEmpty { return }
    var parameters = PostgresParameters()
    parameters.append(array: touched.lazy.map { self.schema.tables[$0].name })
    parameters.append(array: statements.links)
    pipe.send(PostgresStatements.expectLinks, parameters)
  }

  private struct Row {
    let id: String
    let zone: String
    let values: [Value]
  }

  private func send(
    _ rows: [Row], to table: Int, columns: [Int], isNew: Bool, _ pipe: PostgresPipeline
  ) {
    let relation = layout.relations[table]
    var parameters = PostgresParameters()
    parameters.append(array: rows.lazy.map(\.id))
    if relation.hasZone { parameters.append(array: rows.lazy.map(\.zone)) }
    for column in columns {
      parameters.append(values: rows.lazy.map { $0.values[column] }, relation.columns[column].type)
    }
    let statement =
      isNew
      ? statements.records[table].insert
      : PostgresStatements.update(relation, columns: columns, isDistributed: layout.isDistributed)
    pipe.send(statement, parameters)
  }

  private func writeDevices(_ pipe: PostgresPipeline) {
    let moved = deviceTable.rows.filter(\.value.hasMoved).sorted { $0.key < $1.key }
    if !moved.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: moved.lazy.map(\.key))
      parameters.append(array: moved.lazy.map(\.value.confirmed))
      parameters.append(array: moved.lazy.map(\.value.chain))
      parameters.append(array: moved.lazy.map(\.value.acknowledgedRefusals))
      parameters.append(array: moved.lazy.map(\.value.clock))
      parameters.append(array: moved.lazy.map(\.value.applied))
      parameters.append(array: moved.lazy.map(\.value.seenAt))
      pipe.send(Self.moveDevices, parameters)
    }
    let purging = deviceTable.rows.filter { $0.value.purged > 0 }
    if !purging.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: purging.lazy.map(\.key))
      parameters.append(array: purging.lazy.map(\.value.purged))
      pipe.send(Self.dropRefusals, parameters)
    }
    let refusals = deviceTable.newRefusals
    if !refusals.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: refusals.lazy.map(\.device))
      parameters.append(array: refusals.lazy.map(\.first))
      parameters.append(array: refusals.lazy.map(\.last))
      parameters.append(array: refusals.lazy.map(\.operation))
      parameters.append(array: refusals.lazy.map(\.problem))
      pipe.send(Self.addRefusals, parameters)
    }
  }

  private func writeAcks(_ pipe: PostgresPipeline) {
    let cleared = deviceTable.rows.filter(\.value.clearsAcks).keys
    if !cleared.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: cleared)
      pipe.send(Self.clearAcks, parameters)
    }
    let gone = deviceTable.acks.filter { $0.value == nil }
    if !gone.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: gone.lazy.map(\.key.device))
      parameters.append(array: gone.lazy.map(\.key.zone))
      pipe.send(Self.dropAcks, parameters)
    }
    let put = deviceTable.acks.compactMap { key, ack in ack.map { (key, $0) } }
    if !put.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: put.lazy.map(\.0.device))
      parameters.append(array: put.lazy.map(\.0.zone))
      parameters.append(array: put.lazy.map(\.1.epoch))
      parameters.append(array: put.lazy.map(\.1.seq))
      parameters.append(array: put.lazy.map(\.1.purged))
      parameters.append(array: put.lazy.map { self.deviceTable.doubtedAcks.contains($0.0) })
      pipe.send(Self.putAcks, parameters)
    }
    if !deviceTable.losses.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: deviceTable.losses.lazy.map(\.zone))
      parameters.append(array: deviceTable.losses.lazy.map(\.user))
      pipe.send(Self.noteLosses, parameters)
      let sums = deviceTable.lossesByUser
      var counted = PostgresParameters()
      counted.append(array: sums.lazy.map(\.user))
      counted.append(array: sums.lazy.map(\.sum))
      pipe.send(Self.countLosses, counted)
    }
  }
}
