import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Finds and purges expired data in PostgreSQL.
struct PostgresPurge {
  private typealias SQL = PostgresPurgeStatements

  let connection: PostgresConnection

  // MARK: Finding

  func find(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    switch kind {
    case .tombstones:
      let zones = try connection.query(SQL.findZones, PostgresParameters(place, Int64(limit))).texts
      return FoundPurgeable(
        items: try zones.filter { try isPurgeable($0, terms) }.map { .tombstones(zone: $0) },
        next: zones.count == limit ? zones.last : nil)
    case .acks:
      let found = try [SQL.findDead, SQL.findDeadUnseen].map { statement in
        let rows = try connection.query(
          statement, PostgresParameters(terms.devicesSeenAfter, Int64(place) ?? 0, Int64(limit)))
        return rows.indices.map { rows.int64($0, 0) }
      }
      let devices = Set(found.joined()).sorted().prefix(limit)
      return FoundPurgeable(
        items: devices.map { .acks(device: $0) },
        next: devices.count == limit ? devices.last.map { String($0) } : nil)
    case .conflicts:
      let rows = try connection.query(
        SQL.findConflicts, PostgresParameters(place, terms.firstConflict, Int64(limit)))
      let found = rows.indices.map { LoggedConflict(id: rows.text($0, 0), zone: rows.text($0, 1)) }
      return FoundPurgeable(
        items: found.isEmpty ? [] : [.conflicts(found)], next: found.count == limit ? found.last?.id : nil)
    case .answers:
      let rows = try connection.query(
        SQL.findAnswers, PostgresParameters(terms.answersBefore, Int64(limit)))
      let numbers = Dictionary(
        rows.indices.map { (rows.int64($0, 0), rows.int64($0, 1)) }, uniquingKeysWith: max)
      return FoundPurgeable(
        items: numbers.sorted { $0.key < $1.key }.map { .answers(device: $0, upTo: $1) },
        next: rows.count == limit ? "" : nil)
    case .departures, .erasedRecords, .remains, .endings: return FoundPurgeable()
    case .results:
      let rows = try connection.query(
        SQL.findResults, PostgresParameters(terms.shown, terms.shown + KeptResult.life, Int64(limit)))
      return FoundPurgeable(
        items: rows.indices.map { .result(user: rows.text($0, 0), token: rows.bytes($0, 1)) },
        next: rows.count == limit ? "" : nil)
    case .unusedDevices:
      let found = try connection.query(
        SQL.findUnused, PostgresParameters(terms.unusedBefore, Int64(place) ?? 0, Int64(limit)))
      let numbers = found.indices.map { found.int64($0, 0) }
      return FoundPurgeable(
        items: numbers.isEmpty ? [] : [.unusedDevices(numbers)],
        next: numbers.count == limit ? numbers.last.map { String($0) } : nil)
    case .carried:
      let isAny = try !connection.query(SQL.findCarried, PostgresParameters(terms.devicesSeenAfter)).isEmpty
      return FoundPurgeable(items: isAny ? [.carried] : [])
    case .lostHistory:
      let began = try connection.query(SQL.findEpoch)
      if began.isEmpty || began.int64(0, 0) > terms.restoredUpTo { return FoundPurgeable() }
      let found = try [SQL.findRecoveredZones, SQL.findClaimedZones].flatMap { statement in
        try connection.query(statement, PostgresParameters(place, Int64(limit))).texts
      }
      let zones = Array(TextSet(found).sorted().prefix(limit))
      return FoundPurgeable(
        items: zones.map { .lostHistory(zone: $0) }, next: zones.count == limit ? zones.last : nil)
    }
  }

  /// Whether the first tombstone of a zone can be purged.
  private func isPurgeable(_ zone: String, _ terms: RetentionTerms) throws -> Bool {
    let rows = try connection.query(SQL.findTombstones, PostgresParameters(zone, Int64.max, Int64(1)))
    guard !rows.isEmpty, isOld(rows, 0, terms) else { return false }
    return try horizon(of: zone, terms).map { rows.int64(0, 0) <= $0.seq } ?? false
  }

  private func isOld(_ rows: PostgresRows, _ row: Int, _ terms: RetentionTerms) -> Bool {
    Stamp(rawValue: rows.optionalInt64(row, 1) ?? 0).milliseconds <= terms.deletedUpTo
  }

  /// The purge horizon of a zone; nil for an unknown zone.
  private func horizon(of zone: String, _ terms: RetentionTerms) throws -> PurgeHorizon? {
    let found = try connection.pipeline { pipe in
      pipe.send(SQL.findZone, PostgresParameters(zone))
      pipe.send(SQL.findUsers, PostgresParameters(zone))
    }
    if found[0].isEmpty { return nil }
    let (seq, purged, isPublic) = (found[0].int64(0, 0), found[0].int64(0, 1), found[0].bool(0, 2))
    var wanted = PostgresParameters(zone, terms.history.epoch, purged, seq, terms.devicesSeenAfter)
    if !isPublic { wanted.append(array: found[1].texts) }
    let ack = try connection.query(isPublic ? SQL.findAck : SQL.findAckOfUsers, wanted)
    var awaited = PostgresParameters(terms.devicesSeenAfter)
    if !isPublic { awaited.append(array: found[1].texts) }
    let isAwaited =
      try terms.awaitsDevices
      && !connection.query(isPublic ? SQL.findAwaited : SQL.findAwaitedOfUsers, awaited).isEmpty
    let restored = found[0].int64(0, 3)
    let limit = isAwaited ? min(seq, terms.limit(purged: purged, restored: restored)) : seq
    return PurgeHorizon(purged: purged, seq: min(ack.optionalInt64(0, 0) ?? limit, limit))
  }

  // MARK: Retention

  func purge(_ item: Purgeable, _ terms: RetentionTerms) throws -> Purged {
    switch item {
    case .tombstones(let zone): return try purgeTombstones(of: zone, terms)
    case .acks(let device): return try purgeAcks(of: device, terms)
    case .conflicts, .departure, .erasedRecords, .together: return Purged()
    case .remains(let user): return try PostgresErasure(connection: connection).purgeRemains(of: user)
    case .ending(let user): return try PostgresErasure(connection: connection).end(user)
    case .answers(let device, let number):
      let rows = try connection.query(
        SQL.dropAnswers, PostgresParameters(device, number, terms.answersBefore))
      return Purged(answers: rows.count)
    case .result(let user, let token):
      try connection.run(SQL.dropResultIDs, PostgresParameters(user, token))
      try connection.run(SQL.dropResult, PostgresParameters(user, token))
      return Purged(results: 1)
    case .unusedDevices(let numbers):
      var unused = PostgresParameters(array: numbers)
      unused.append(terms.unusedBefore)
      let dropped = try connection.query(SQL.dropUnused, unused)
      let gone = PostgresParameters(array: dropped.indices.map { dropped.int64($0, 0) })
      try connection.run(SQL.dropPushTokens, gone)
      return Purged(devices: dropped.count)
    case .lostHistory(let zone): return try purgeLostHistory(of: zone)
    case .carried:
      let count = try connection.query(
        SQL.dropCarried, PostgresParameters(terms.devicesSeenAfter, Int64(RetentionTerms.step))
      ).count
      return Purged(carried: count, hasMore: count == RetentionTerms.step)
    }
  }

  // MARK: The time

  func time() throws -> TrustedTime? {
    let found = try connection.query(SQL.findTime)
    return found.isEmpty ? nil : TrustedTime(found.text(0, 0))
  }

  func lockTime() throws -> TrustedTime? { TrustedTime(try connection.query(SQL.lockTime).text(0, 0)) }

  func setTime(_ time: TrustedTime) throws {
    try connection.run(SQL.putTime, PostgresParameters(time.text))
  }

  func rollBack(to now: Int64) throws {
    try connection.pipeline { pipe in
      pipe.send(SQL.takeBackDevices, PostgresParameters(now))
      pipe.send(SQL.takeBackAnswers, PostgresParameters(now))
      pipe.send(SQL.takeBackCarried, PostgresParameters(now))
    }
  }

  // MARK: Lost histories

  private func purgeLostHistory(of zone: String) throws -> Purged {
    let found = try connection.query(
      SQL.findRecovered, PostgresParameters(zone, Int64(RetentionTerms.step)))
    if let last = found.indices.last {
      try connection.run(
        SQL.dropRecovered, PostgresParameters(zone, found.text(last, 0), found.text(last, 1)))
    }
    if found.count == RetentionTerms.step { return Purged(lostHistory: found.count, hasMore: true) }
    try connection.run(SQL.dropClaimants, PostgresParameters(zone))
    let claims = try connection.query(SQL.dropClaim, PostgresParameters(zone)).count
    return Purged(lostHistory: found.count + claims)
  }

  private func purgeTombstones(of zone: String, _ terms: RetentionTerms) throws -> Purged {
    guard let horizon = try horizon(of: zone, terms) else { return Purged() }
    let rows = try connection.query(
      SQL.findTombstones, PostgresParameters(zone, horizon.seq, Int64(RetentionTerms.step)))
    let old = rows.indices.prefix { isOld(rows, $0, terms) }
    guard let last = old.last.map({ rows.int64($0, 0) }) else { return Purged() }
    let deleted = old.filter { rows.int64($0, 4) == RecordPlace.State.deleted.rawValue }
    var created = PostgresParameters()
    created.append(array: deleted.map { rows.text($0, 2) })
    created.append(array: deleted.map { rows.text($0, 3) })
    let dropped = try connection.pipeline { pipe in
      pipe.send(SQL.dropCreated, created)
      pipe.send(SQL.dropTombstones, PostgresParameters(zone, last))
      pipe.send(SQL.setPurged, PostgresParameters(zone, last))
    }
    Trace.took(.tombstonesPurged)
    return Purged(
      tombstones: old.count, zones: 1, created: dropped[0].count,
      hasMore: old.count == RetentionTerms.step)
  }

  private func purgeAcks(of device: Int64, _ terms: RetentionTerms) throws -> Purged {
    let found = try connection.query(SQL.lockDevice, PostgresParameters(device))
    // Another transaction has locked the device, so it has just returned; or it returned earlier.
    guard !found.isEmpty, found.int64(0, 0) <= terms.devicesSeenAfter else { return Purged() }
    let zones = try connection.query(
      SQL.findAcks, PostgresParameters(device, Int64(RetentionTerms.step))
    ).texts
    try connection.pipeline { pipe in
      pipe.send(SQL.markDevice, PostgresParameters(device))
      pipe.send(SQL.dropPushTokens, PostgresParameters(array: [device]))
      if let last = zones.last { pipe.send(SQL.dropAcks, PostgresParameters(device, last)) }
    }
    Trace.took(.devicePurged)
    return Purged(acks: zones.count, hasMore: zones.count == RetentionTerms.step)
  }
}
