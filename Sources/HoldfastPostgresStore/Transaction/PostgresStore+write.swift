import HoldfastCore
package import HoldfastPostgres
package import HoldfastService

extension PostgresStore {
  private static let addZones: PostgresStatement =
    "INSERT INTO holdfast.zones (zone, seq) SELECT zone, 0 FROM unnest($1::text[]) AS u (zone)"
  private static let moveZones: PostgresStatement = """
    UPDATE holdfast.zones z SET seq = CASE WHEN z.seq = u.before THEN u.seq ELSE holdfast.overtaken() END,
      clock = greatest(z.clock, u.clock), records = greatest(0, u.records), bytes = greatest(0, u.bytes)
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
      AS u (zone, before, seq, clock, records, bytes) WHERE z.zone = u.zone
    """
  private static let touchZones = PostgresStatement(AccessFunction.touch("SELECT unnest($1::text[])"))
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
  // A row that conflicts was made by somebody without the zone's lock.
  private static let addLivePlaces: PostgresStatement = """
    INSERT INTO holdfast.records (zone, seq, record_table, id, rev, stamps, size)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[])
    """
  private static let addPlaces = PostgresStatement(insertPlaces)
  private static let insertPlaces = """
    INSERT INTO holdfast.records (zone, seq, record_table, id, rev, stamps, size, state, stamp, device, deleted_seq)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
    """
  private static let putPlaces = PostgresStatement(
    """
    \(insertPlaces)
    ON CONFLICT (record_table, id, zone) DO UPDATE SET seq = excluded.seq, rev = excluded.rev, state = excluded.state,
      stamps = excluded.stamps, stamp = excluded.stamp, device = excluded.device, deleted_seq = excluded.deleted_seq,
      size = excluded.size
    """)
  private static let moveDevices: PostgresStatement = """
    UPDATE holdfast.devices d SET confirmed = u.confirmed, chain = u.chain, acknowledged_refusals = u.acknowledged_refusals, clock = u.clock,
      seen_at = u.seen_at, session_used = u.session_used, unseen_since_restore = u.unseen, applied = u.applied
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::boolean[], $9::boolean[])
      AS u (number, confirmed, chain, acknowledged_refusals, clock, applied, seen_at, session_used, unseen) WHERE d.number = u.number
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
  // If the zone was lost since the last ack, the device must resync or drop it.
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

  /// Writes the changes in one round trip, and commits them. A transaction that relies on what was known before also begins in it, and fails
  /// if others have written since.
  ///
  /// - Returns: whether the transaction has committed, and nobody else since the one before it, as far as that is known.
  @discardableResult
  package func write(_ delta: Delta, andCommit changes: ZoneChanges?) throws(PostgresError) -> Bool {
    let parking = PostgresParking(delta.records, schema, layout)
    let assumed = takeAssumed()
    var alone: Int?
    let answers = try link.pipeline { pipe in
      if let assumed { begin(assumed, delta, pipe) }
      writeZones(delta, pipe)
      if !delta.records.isEmpty {
        writePlaces(delta.records, pipe)
        parking.send(pipe)
        writeRecords(delta.records, parking, pipe)
      }
      if let changes {
        writeRoles(delta.roles, pipe)
        PostgresConsents.write(delta.left, pipe)
        writeDevices(delta, pipe)
        writeAcks(delta, pipe)
        PostgresRequestStatements.write(delta.requests, pipe)
        if memory.seesAll {
          let snapshot = LaneMemory.snapshot(of: transaction)
          alone = pipe.send(
            PostgresStatements.findAlone, PostgresParameters(snapshot, "\(transaction)", reliesOnMemory))
        }
        for payload in changes.payloads(from: node) {
          pipe.send(PostgresStatements.notify, PostgresParameters(payload))
        }
        pipe.send(PostgresStatements.commit)
      }
    }
    return alone.map { answers[$0].bool(0, 0) } ?? false
  }

  /// Begins the transaction that was assumed, as far as its changes do not lock what it relies on.
  private func begin(_ assumed: Fetched, _ delta: Delta, _ pipe: PostgresPipeline) {
    sendBegin(pipe)
    let moved = Set(delta.movedDevices.map(\.number))
    let devices = assumed.devices.keys.filter { !moved.contains($0) }.sorted()
    if !devices.isEmpty { pipe.send(PostgresStatements.holdDevices, PostgresParameters(array: devices)) }
    let changed = TextSet(delta.movedZones.map(\.zone))
    let zones = assumed.zones.keys.filter { !changed.contains($0) }.sorted()
    if !zones.isEmpty { pipe.send(PostgresStatements.holdZones, PostgresParameters(array: zones)) }
    if assumed.absent.isEmpty { return }
    let ids = assumed.absent.map(\.id)
    var absent = PostgresParameters()
    absent.append(array: assumed.absent.lazy.map { [layout] in layout.relations[$0.table].table })
    absent.append(array: ids)
    absent.append(ids.min())
    absent.append(ids.max())
    absent.append(Int64(ids.count))
    pipe.send(PostgresStatements.expectAbsent, absent)
  }

  private func writeRoles(_ roles: [(member: ZoneUser, role: Role?)], _ pipe: PostgresPipeline) {
    let (given, taken) = (roles.filter { $0.role != nil }, roles.filter { $0.role == nil })
    if !given.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: given.lazy.map(\.member.zone))
      parameters.append(array: given.lazy.map(\.member.user))
      parameters.append(array: given.lazy.map { $0.role?.rawValue })
      pipe.send(Self.putRoles, parameters)
    }
    if !taken.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: taken.lazy.map(\.member.zone))
      parameters.append(array: taken.lazy.map(\.member.user))
      pipe.send(Self.dropRoles, parameters)
    }
  }

  private func writeZones(_ delta: Delta, _ pipe: PostgresPipeline) {
    if !delta.newZones.isEmpty {
      let parameters = PostgresParameters(array: delta.newZones)
      pipe.send(Self.addZones, parameters)
    }
    let moved = delta.movedZones
    if !moved.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: moved.lazy.map(\.zone))
      parameters.append(array: moved.lazy.map(\.before))
      parameters.append(array: moved.lazy.map(\.seq))
      parameters.append(array: moved.lazy.map { _ in delta.clock.rawValue })
      parameters.append(array: moved.lazy.map(\.counts.records))
      parameters.append(array: moved.lazy.map(\.counts.bytes))
      pipe.send(Self.moveZones, parameters)
    }
    let groups = groups(namedBy: delta.records)
    if !groups.isEmpty { pipe.send(Self.touchZones, PostgresParameters(array: groups)) }
  }

  /// The groups that new members name; see `AccessFunction`.
  private func groups(namedBy changes: [ChangedRecord]) -> [String] {
    let members = MemberColumns(schema)
    return changes.compactMap { change in
      change.key.table == members.table && change.before?.values == nil
        ? change.now.values?[members.group].text : nil
    }
  }

  private func writePlaces(_ changes: [ChangedRecord], _ pipe: PostgresPipeline) {
    var dropped: [(key: Footprint.Key, zone: String)] = []
    var (live, added, put): ([Placed], [Placed], [Placed]) = ([], [], [])
    for change in changes {
      let before = change.before?.places ?? RecordPlaces()
      for place in before where change.now.places[place.zone] == nil {
        dropped.append((change.key, place.zone))
      }
      for place in change.now.places {
        let old = before[place.zone]
        if old == nil {
          if place.state == .live {
            live.append((change.key, place))
          } else {
            added.append((change.key, place))
          }
        } else if old != place {
          put.append((change.key, place))
        }
      }
    }
    if !dropped.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: dropped.lazy.map { self.schema.tables[$0.key.table].name })
      parameters.append(array: dropped.lazy.map(\.key.id))
      parameters.append(array: dropped.lazy.map(\.zone))
      pipe.send(Self.dropPlaces, parameters)
    }
    if !put.isEmpty { pipe.send(Self.putPlaces, parameters(of: put)) }
    if !added.isEmpty { pipe.send(Self.addPlaces, parameters(of: added)) }
    if !live.isEmpty { pipe.send(Self.addLivePlaces, liveParameters(of: live)) }
  }

  private typealias Placed = (key: Footprint.Key, place: RecordPlace)

  /// What live records and others have.
  private func parameters(of placed: [Placed]) -> PostgresParameters {
    var parameters = liveParameters(of: placed)
    parameters.append(array: placed.lazy.map(\.place.state.rawValue))
    parameters.append(array: placed.lazy.map(\.place.stamp))
    parameters.append(array: placed.lazy.map(\.place.device))
    parameters.append(array: placed.lazy.map(\.place.deletedSeq))
    return parameters
  }

  /// What live records have: a new one has no more.
  private func liveParameters(of placed: [Placed]) -> PostgresParameters {
    var parameters = PostgresParameters()
    parameters.append(array: placed.lazy.map(\.place.zone))
    parameters.append(array: placed.lazy.map(\.place.seq))
    parameters.append(array: placed.lazy.map { [layout] in layout.relations[$0.key.table].table })
    parameters.append(array: placed.lazy.map(\.key.id))
    parameters.append(array: placed.lazy.map(\.place.rev))
    parameters.append(array: placed.lazy.map(\.place.stamps))
    parameters.append(array: placed.lazy.map(\.place.size))
    return parameters
  }

  /// Writes the tables: first new records, parents first; then changes; then deletions, children first.
  private func writeRecords(
    _ changes: [ChangedRecord], _ parking: PostgresParking, _ pipe: PostgresPipeline
  ) {
    var added: [Int: [Row]] = [:]
    var edited: [Int: [[Int]: [Row]]] = [:]
    var removed: [Int: [String]] = [:]
    var touched: Set<Int> = []
    for change in changes {
      let (key, before, entry) = (change.key, change.before, change.now)
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
      let parameters = PostgresParameters(array: ids)
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
      : PostgresStatements.update(relation, columns: columns)
    pipe.send(statement, parameters)
  }

  private func writeDevices(_ delta: Delta, _ pipe: PostgresPipeline) {
    let moved = delta.movedDevices
    if !moved.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: moved.lazy.map(\.number))
      parameters.append(array: moved.lazy.map(\.state.confirmed))
      parameters.append(array: moved.lazy.map { Int64(bitPattern: $0.state.chain.value) })
      parameters.append(array: moved.lazy.map(\.state.acknowledgedRefusals))
      parameters.append(array: moved.lazy.map(\.state.clock.rawValue))
      parameters.append(array: moved.lazy.map(\.state.applied.bytes))
      parameters.append(array: moved.lazy.map(\.state.seenAt))
      parameters.append(array: moved.lazy.map(\.state.isSessionUsed))
      parameters.append(array: moved.lazy.map(\.state.isUnseenSinceRestore))
      pipe.send(Self.moveDevices, parameters)
    }
    if !delta.purgedRefusals.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: delta.purgedRefusals.lazy.map(\.device))
      parameters.append(array: delta.purgedRefusals.lazy.map(\.last))
      pipe.send(Self.dropRefusals, parameters)
    }
    let refusals = delta.refusals
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

  private func writeAcks(_ delta: Delta, _ pipe: PostgresPipeline) {
    if !delta.clearedAcks.isEmpty {
      let parameters = PostgresParameters(array: delta.clearedAcks)
      pipe.send(Self.clearAcks, parameters)
    }
    let gone = delta.acks.filter { $0.ack == nil }
    if !gone.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: gone.lazy.map(\.key.device))
      parameters.append(array: gone.lazy.map(\.key.zone))
      pipe.send(Self.dropAcks, parameters)
    }
    let put = delta.acks.compactMap { new in new.ack.map { (new, $0) } }
    if !put.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: put.lazy.map(\.0.key.device))
      parameters.append(array: put.lazy.map(\.0.key.zone))
      parameters.append(array: put.lazy.map(\.1.epoch))
      parameters.append(array: put.lazy.map(\.1.seq))
      parameters.append(array: put.lazy.map(\.1.purged))
      parameters.append(array: put.lazy.map(\.0.isDoubted))
      pipe.send(Self.putAcks, parameters)
    }
    if !delta.losses.isEmpty {
      var parameters = PostgresParameters()
      parameters.append(array: delta.losses.lazy.map(\.zone))
      parameters.append(array: delta.losses.lazy.map(\.user))
      pipe.send(Self.noteLosses, parameters)
      let sums = delta.lossesByUser
      var counted = PostgresParameters()
      counted.append(array: sums.lazy.map(\.user))
      counted.append(array: sums.lazy.map(\.sum))
      pipe.send(Self.countLosses, counted)
    }
  }
}
