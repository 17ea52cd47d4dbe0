import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Moves zones between two databases of a directory, while their servers run: docs/MOVING.md.
///
/// A move that was interrupted goes on when it is asked for again.
public final class ZoneMoving {
  private let (source, target): (Administration, Administration)
  private let (sourceName, targetName): (String, String)
  private let directory: DirectoryAdministration

  /// - Throws: `ServerError.refused` if they are not two databases of the directory with equal schemas.
  public init(
    from source: Administration, to target: Administration, in directory: DirectoryAdministration
  ) throws {
    (self.source, self.target, self.directory) = (source, target, directory)
    (sourceName, targetName) = (try directory.name(of: source), try directory.name(of: target))
    if sourceName == targetName {
      throw ServerError(.refused, "--from and --to are one database: \(sourceName).")
    }
    if source.schema != target.schema {
      throw ServerError(
        .refused, "The schemas differ. Start the servers of both databases with one schema, and move then.")
    }
  }

  /// What has moved.
  public struct Moved: Sendable, Equatable {
    /// The name of the database in which the zone is now.
    public let database: String
    /// Its live records, members among them.
    public let records: Int
    /// Its deletions that were not purged.
    public let deletions: Int
    /// Its members, those that have not accepted among them.
    public let members: Int
  }

  /// Moves a zone.
  ///
  /// - Parameter discards: whether a copy is given up that a restore has brought back, although it was written to since.
  /// - Returns: what has moved; nil if the zone had arrived before.
  /// - Throws: `ServerError`: `notFound`, `refused`. The zone stays where it is, or the same call goes on.
  public func move(_ zone: String, discards: Bool = false) throws -> Moved? {
    let (place, there) = try (source.place(of: zone), target.place(of: zone))
    guard let place else {
      throw ServerError(.notFound, "There is no zone \(zone) in \(sourceName). `holdfast zones` lists them.")
    }
    if let there, there.leftFor == nil {
      guard place.leftFor == targetName, place.number > there.number else {
        try follow(zone, place, there, discards: discards)
        return nil
      }
      return try replaceEarlier(zone, place, discards: discards)
    }
    if let database = place.leftFor, place.state == .refused || database != targetName {
      throw ServerError(
        .refused, "The zone \(zone) is in the database \(database), or on its way from there.")
    }
    var number = place.number
    if place.leftFor == nil {
      number = max(place.number, there?.number ?? 0) + 1
      try requireRoom(for: zone)
      _ = try invite(zone)
      try letGo(zone, number)
    } else if let there, there.number >= number, let database = there.leftFor {
      throw ServerError(
        .refused,
        database == sourceName
          ? "The move of the zone \(zone) was cancelled. Run this command with --cancel, which takes it back."
          : "The zone \(zone) has moved on to the database \(database).")
    }
    return try arrive(zone, number, members: invite(zone))
  }

  /// Takes a zone back that has not arrived.
  ///
  /// - Throws: `ServerError.refused` if it has arrived, or was not on its way.
  public func cancel(_ zone: String) throws {
    guard let place = try source.place(of: zone), place.leftFor == targetName, place.state != .refused else {
      throw ServerError(.refused, "The zone \(zone) is not on its way from \(sourceName) to \(targetName).")
    }
    let there = try target.place(of: zone)
    if let there, there.leftFor == nil {
      throw ServerError(.refused, "The zone \(zone) has arrived in \(targetName). Move it back.")
    }
    if let there, there.number >= place.number {
      // A cancellation that was interrupted goes on.
      guard there == ZonePlace(leftFor: sourceName, number: place.number, state: .refused) else {
        throw ServerError(.refused, "The zone \(zone) has arrived in \(targetName), and has moved on.")
      }
    } else {
      try target.change(.move) { [sourceName] work, _, audited in
        audited = .init(target: zone, detail: "cancelled: stays in \(sourceName)")
        try ZoneMoves(work).refuse(zone, stayingIn: sourceName, number: place.number)
      }
    }
    try source.change(.move, Footprint(zones: [zone])) { [targetName] work, now, audited in
      audited = .init(target: zone, detail: "cancelled: not to \(targetName)")
      try ZoneMoves(work).takeBack(zone, number: place.number, at: now)
    }
  }

  // MARK: Steps

  /// Requires that no record of another zone in the target is in the way. One that gets in the way later keeps the zone from arriving.
  private func requireRoom(for zone: String) throws {
    for table in source.schema.tables.indices {
      try source.forEachPage(of: table, in: zone) { changes in
        let ids = changes.compactMap(\.live?.id)
        let found = try target.database.read { try $0.records(ids, of: table, for: nil) }
        for case .live(let record, _) in found.values where record.zone != zone {
          throw ZoneMoves.inTheWay(record, of: source.schema.tables[table].name)
        }
      }
    }
  }

  /// Makes the members of the zone guests of the target, and those who have invited somebody.
  ///
  /// - Returns: how many members the zone has.
  private func invite(_ zone: String) throws -> Int {
    let columns = MemberColumns(source.schema)
    var users: TextSet = []
    var inviters = TextSet(try source.database.read { try $0.invitationTokens(to: zone).map(\.0.inviter) })
    try source.forEachPage(of: columns.table, in: zone) { changes in
      for record in changes.compactMap(\.live) {
        if let user = record.values[columns.user].text { users.insert(user) }
        if let inviter = record.values[columns.inviter].text { inviters.insert(inviter) }
      }
    }
    let guests = try directory.invite(users.union(inviters).sorted(), to: targetName)
    let missing = users.subtracting(guests.map(\.id)).count
    if missing > 0 {
      throw ServerError(
        .refused,
        "The directory does not know \(missing) members of the zone \(zone): they are being erased, or `holdfast directory check --repair` claims their names. Then run the command again."
      )
    }
    let strangers = guests.filter { $0.home != targetName }
    if !strangers.isEmpty {
      try target.change(.move) { work, now, audited in
        audited = .init(target: zone, detail: "\(strangers.count) members become guests")
        try Guests(work).add(strangers, at: now)
      }
    }
    return users.count
  }

  private func letGo(_ zone: String, _ number: Int64) throws {
    try source.change(.move, Footprint(zones: [zone])) { [source, targetName] work, _, audited in
      audited = .init(target: zone, detail: "to \(targetName)")
      let moves = ZoneMoves(work)
      try moves.letGo(zone, to: targetName, number: number)
      // The zone is locked: what another connection reads now stays so.
      for table in source.schema.tables.indices where source.schema.mayCrossZones(table) {
        try source.forEachPage(of: table, in: zone) {
          try moves.requireNoReferences($0.compactMap(\.live), of: table, in: zone)
        }
      }
    }
  }

  private func arrive(_ zone: String, _ number: Int64, members: Int) throws -> Moved {
    let invitations = try source.database.read { try $0.invitationTokens(to: zone) }
    let (records, deletions) = try target.change(.move) { [source, target, sourceName] work, now, audited in
      audited = .init(target: zone, detail: "from \(sourceName)")
      let moves = ZoneMoves(work)
      if try target.place(of: zone) != nil { try target.dropAll(zone, moves) }
      let arrived = try moves.arrive(zone, from: sourceName, number: number, at: now) { take in
        for table in source.schema.tables.indices {
          try source.forEachPage(of: table, in: zone) { try take(table, $0) }
        }
        let progress = try source.database.read { reader in
          try reader.moment { try reader.zone(zone, for: nil) }
        }
        return (progress?.seq ?? 0, progress?.purged ?? 0)
      }
      for (invitation, token) in invitations
      where try work.store.accounts.name(ofID: invitation.inviter) != nil {
        try work.store.invitations.add(invitation, token)
      }
      try source.forEachOrigin(in: zone) { try moves.take($0, at: now) }
      return arrived
    }
    try noteArrival(zone, number)
    return Moved(database: targetName, records: records, deletions: deletions, members: members)
  }

  private func noteArrival(_ zone: String, _ number: Int64) throws {
    try source.change(.move, Footprint(zones: [zone])) { [targetName] work, _, audited in
      audited = .init(target: zone, detail: "is in \(targetName)")
      try ZoneMoves(work).noteArrival(zone, in: targetName, number: number)
    }
  }

  /// Has the source say that a zone is in the target, where it is: it may have moved on from another database, or a restore has brought a copy back.
  private func follow(_ zone: String, _ place: ZonePlace, _ there: ZonePlace, discards: Bool) throws {
    if place == ZonePlace(leftFor: targetName, number: there.number, state: .arrived) { return }
    if place == ZonePlace(leftFor: targetName, number: there.number) {
      return try noteArrival(zone, there.number)
    }
    guard there.number > place.number else {
      throw ServerError(.refused, "The zone \(zone) is in \(targetName), too: docs/MOVING.md, section 5.")
    }
    try source.follow(
      zone, to: targetName, number: there.number, discards: discards || place.leftFor != nil)
  }

  /// Replaces the copy of an earlier stay in the target, which a restore of the target has brought back: the zone has left it and was let go to it again
  /// since. Without its records in the source, the earlier copy is all that is left, and goes on as after any restore.
  private func replaceEarlier(_ zone: String, _ place: ZonePlace, discards: Bool) throws -> Moved? {
    if try source.hasRecords(of: zone) {
      try target.follow(zone, to: sourceName, number: place.number - 1, discards: discards)
      return try arrive(zone, place.number, members: invite(zone))
    }
    try target.change(.move, Footprint(zones: [zone])) { [sourceName] work, _, audited in
      audited = .init(target: zone, detail: "stays, as nothing of it is left in \(sourceName)")
      try ZoneMoves(work).keep(zone, number: place.number)
    }
    if place.state != .arrived { try noteArrival(zone, place.number) }
    return nil
  }
}

extension Administration {
  func place(of zone: String) throws -> ZonePlace? {
    try database.read { reader in try reader.moment { try reader.places(of: [zone])[zone] } }
  }

  /// Says that a zone is in another database, and gives up a copy of it that a restore has brought back.
  ///
  /// - Parameter discards: whether to give up what was written to the copy since.
  fileprivate func follow(_ zone: String, to other: String, number: Int64, discards: Bool) throws {
    try change(.move, Footprint(zones: [zone])) { work, _, audited in
      audited = .init(target: zone, detail: "is in \(other)")
      let restored = try database.read { reader in
        try reader.moment { try reader.restored([zone])[zone]?.seq ?? 0 }
      }
      if !discards, try work.stores.ledger.seq(of: zone) > restored {
        throw ServerError(
          .refused,
          "The zone \(zone) has moved to \(other), a copy of it was restored, and was written to since. Compare both with sqlite3 or psql. --discard gives up what was written to the copy."
        )
      }
      try ZoneMoves(work).follow(zone, to: other, number: number)
    }
  }

  /// Whether a live record of a zone is here: tombstones may stay longer.
  fileprivate func hasRecords(of zone: String) throws -> Bool {
    var isAny = false
    for table in schema.tables.indices where !isAny {
      try forEachPage(of: table, in: zone) { isAny = isAny || $0.contains { $0.live != nil } }
    }
    return isAny
  }

  /// Calls `body` with all changes of a table in a zone, in the order of their seqs, at most 1,000 at a time.
  fileprivate func forEachPage(
    of table: Int, in zone: String, _ body: ([RecordChange]) throws -> Void
  ) throws {
    var last: Int64 = 0
    while true {
      let page = try database.read { reader in
        try reader.moment { try reader.changes(of: table, in: zone, after: last, limit: 1000) }
      }
      guard let end = page.last else { return }
      last = end.seq
      try body(page)
    }
  }

  /// The same with the origins of the change sets that were carried into a zone.
  fileprivate func forEachOrigin(in zone: String, _ body: ([CarriedOrigin]) throws -> Void) throws {
    var last: CarriedOrigin?
    while true {
      let page = try database.read { try $0.carried(into: zone, after: last, limit: 1000) }
      guard let end = page.last else { return }
      last = end
      try body(page)
    }
  }

  /// Drops the records that are left of a zone that has moved to another database.
  ///
  /// - Throws: `ServerError`: `notFound`; `refused` while the zone is here.
  public func drop(_ zone: String) throws {
    try change(.drop, Footprint(zones: [zone])) { work, _, audited in
      audited.target = zone
      guard try work.stores.ledger.exists(zone) else {
        throw ServerError(.notFound, "There is no zone \(zone). `holdfast zones` lists them.")
      }
      if let place = try place(of: zone), place.leftFor != nil, place.state == .going {
        throw ServerError(
          .refused,
          "The zone \(zone) may not have arrived: run its move again, or take it back with --cancel.")
      }
      try dropAll(zone, ZoneMoves(work))
    }
  }

  fileprivate func dropAll(_ zone: String, _ moves: ZoneMoves) throws {
    // Children first: a foreign key of PostgreSQL would take them along.
    for table in schema.parentsFirst.reversed() {
      try forEachPage(of: table, in: zone) { try moves.drop($0, of: table, in: zone) }
    }
    try moves.dropNotes(of: zone)
  }
}

extension SyncSchema {
  /// Whether records of a table may refer to records of other zones, or these to them.
  fileprivate func mayCrossZones(_ table: Int) -> Bool {
    links.contains { !$0.isInZone && ($0.table == table || $0.target == table) }
  }
}

extension DirectoryAdministration {
  /// The name of a database that has joined.
  ///
  /// - Throws: `ServerError.refused` if it has not, or is a copy.
  fileprivate func name(of administration: Administration) throws -> String {
    try requireTables()
    guard let name = try administration.databaseName() else {
      throw ServerError(.refused, "A database has not joined the directory: holdfast directory join NAME.")
    }
    let rows = try connection.query(
      "SELECT identity FROM holdfast_directory.databases WHERE name = $1", PostgresParameters(name))
    if rows.isEmpty { throw Self.unknown(name) }
    if rows.text(0, 0) != (try administration.identity()) { throw Directory.copied(name) }
    return name
  }

  /// Makes users present in a database, unless it is their home.
  ///
  /// - Returns: those that have names.
  fileprivate func invite(_ users: [String], to database: String) throws -> [NewGuest] {
    var parameters = PostgresParameters(array: users)
    parameters.append(database)
    let rows = try connection.query(
      """
      WITH found AS (
        UPDATE holdfast_directory.names SET is_served = true WHERE user_id = ANY ($1) RETURNING user_id, name, home),
      presence AS (
        INSERT INTO holdfast_directory.presences (user_id, database) SELECT user_id, $2 FROM found WHERE home <> $2
        ON CONFLICT DO NOTHING)
      SELECT user_id, name, home FROM found
      """, parameters)
    return rows.indices.map { NewGuest(id: rows.text($0, 0), name: rows.text($0, 1), home: rows.text($0, 2)) }
  }
}
