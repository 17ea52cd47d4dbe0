import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Reads from PostgreSQL: docs/POSTGRES.md, section 5.
final class PostgresReader: StoreReader {
  let connection: PostgresConnection
  private(set) var history: History
  private let known: KnownHistory
  var prover: Prover { known.prover }
  let feed: PostgresChangeFeed
  let collections: PostgresCollections
  /// The statements that read the history, and records by id.
  let statements: PostgresRecordStatements
  /// The rows that were looked up.
  private var findings: PostgresFindings
  /// The rows of earlier look-ups, valid until somebody writes.
  private var cache = PostgresReadCache()
  /// The rows that the last write has left.
  private let committed: CommittedDevices
  /// The device of the current request.
  private var device: PostgresFindings.Found?
  /// The maximum number of changes of a page.
  private var count = Int64.max
  private var reading = Reading.freely
  /// The number of the last snapshot that was read.
  private var moment = 0
  /// Whether transactions of the connection are repeatable reads by default.
  private let isRepeatable: Bool

  private typealias Read = PostgresReadStatements

  /// From which snapshot the next read has to be.
  private enum Reading {
    /// Any.
    case freely
    /// That of the look-up: the rows must be there already.
    case whole
    /// That of a transaction, which the next read opens.
    case opening
    /// That of the open transaction.
    case inTransaction
  }

  /// A look-up lacks rows that the request needs.
  private struct Incomplete: Error {}

  init(
    _ connection: PostgresConnection, _ known: KnownHistory, _ feed: PostgresChangeFeed,
    _ statements: PostgresRecordStatements, _ collections: PostgresCollections, _ parts: PartCache,
    _ committed: CommittedDevices, isRepeatable: Bool
  ) {
    self.committed = committed
    findings = PostgresFindings(parts, feed.hints)
    self.isRepeatable = isRepeatable
    self.connection = connection
    self.known = known
    history = known.now
    self.feed = feed
    self.statements = statements
    self.collections = collections
  }

  /// Starts the next request.
  ///
  /// - Parameter isShared: whether the last look-up includes this request.
  func begin(isShared: Bool) {
    (device, count) = (nil, .max)
    if !isShared { findings.removeAll() }
  }

  /// No transaction is needed: one pipeline reads a device and its zones from one snapshot.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  func device(_ token: TokenHash) throws -> KnownDevice? {
    let found = try found(token)
    if let then = found.history { history = then }
    device = found
    return found.device
  }

  private func found(_ token: TokenHash) throws -> PostgresFindings.Found {
    if let found = findings.devices[token] { return found }
    try requireMoment()
    try find([token], [])
    return findings.devices[token] ?? PostgresFindings.Found()
  }

  /// Records the history that was read.
  func learn(history rows: PostgresRows) throws {
    history = try PostgresEpoch.current(rows, on: connection)
    known.see(history)
  }

  /// Looks up devices with the changes that their requests need, if these are few. A second pipeline reads changes that the first one has found.
  func lookUp(_ lookUps: [LookUp]) throws {
    var unknown = lookUps
    if let known = committed.devices(for: lookUps), known.history.epoch == epoch {
      moment += 1
      findings.add(known.found, of: Array(known.found.keys), in: moment, known.history)
      unknown = lookUps.filter { known.found[$0.token] == nil }
    }
    if !unknown.isEmpty { try ask(unknown) }
    let rest = lookUps.filter { findings.isMissing($0, epoch: epoch) }
    if !rest.isEmpty { try find(rest.map(\.token), guessing: findings.missing(of: rest, epoch: epoch)) }
  }

  private func ask(_ lookUps: [LookUp]) throws {
    let tokens = lookUps.map(\.token)
    if cache.isQuiet, !lookUps.contains(where: \.followsWrite), let known = cache.devices(tokens),
      cache.see(try connection.query(statements.findSnapshot).text(0, 0))
    {
      moment += 1
      findings.add(known, of: tokens, in: moment, history)
    } else {
      try find(tokens, guessing: findings.guesses(of: lookUps))
    }
  }

  /// Reading ahead may name a table that is not needed and that the role may not read. Then each request reads its rows by itself.
  private func find(_ tokens: [TokenHash], guessing zones: [ZoneProgress]) throws {
    do { try find(tokens, zones) } catch is PostgresError where !zones.isEmpty && connection.isUsable {
      try find(tokens, [])
    }
  }

  private var epoch: String { history.epoch }

  /// Reads devices and changes of zones from one snapshot.
  private func find(_ tokens: [TokenHash], _ zones: [ZoneProgress]) throws {
    var asked: PostgresChangeFeed.Asked?
    let (devices, answers) = try findDevices(tokens) { pipe in
      if !zones.isEmpty { asked = feed.ask(zones, size: Int(PostgresChangeFeed.few) * 2, isLast: true, pipe) }
    }
    if reading != .inTransaction { moment += 1 }
    findings.add(devices, of: tokens, in: moment, history)
    guard let asked else { return }
    let read = feed.stretches(asked, of: zones, answers).filter { feed.missingTables(of: $0).isEmpty }
    findings.add(read, in: moment)
  }

  /// Reads the history, devices with their zones and refusals, and the statements of `more`, from one snapshot.
  private func findDevices(_ tokens: [TokenHash], _ more: (PostgresPipeline) -> Void) throws -> (
    [TokenHash: PostgresFindings.Found], [PostgresRows]
  ) {
    let asked = Self.byBytes(tokens)
    let hashes = PostgresParameters(array: asked.keys)
    let isOpening = reading == .opening
    // A pooler's connection has no settings of its own.
    let isAlone = !isRepeatable && !isOpening && reading != .inTransaction
    var first = 0
    let answers = try connection.pipeline { pipe in
      if isOpening || isAlone { pipe.send(PostgresChangeFeed.begin) }
      first = pipe.send(statements.findHistory)
      pipe.send(Read.findDevices, hashes)
      pipe.send(Read.findZones, hashes)
      more(pipe)
      if isAlone { pipe.send(PostgresChangeFeed.end) }
    }
    if isOpening { reading = .inTransaction }
    try learn(history: answers[first])
    let (found, snapshot) = try Read.found(asked, answers[first...], epoch: epoch)
    cache.see(snapshot)
    cache.keep(found)
    committed.learn(found, snapshot: snapshot, history)
    return (found, answers)
  }

  private static func byBytes(_ tokens: [TokenHash]) -> [[UInt8]: TokenHash] {
    Dictionary(tokens.map { ($0.withBytes { Array($0) }, $0) }, uniquingKeysWith: { $1 })
  }

  func devices(_ tokens: [TokenHash]) throws -> [KnownDevice] {
    let asked = Self.byBytes(tokens)
    let rows = try connection.query(Read.findDevices, PostgresParameters(array: asked.keys))
    var devices: [Int64: KnownDevice] = [:]
    for row in rows.indices {
      guard let token = asked[rows.bytes(row, KnownDevice.columnCount)] else { continue }
      devices[rows.int64(row, 0)] = try KnownDevice(rows, row, token)
    }
    return Array(devices.values)
  }

  func followed(by device: Int64, among zones: [String]) throws -> [String] {
    var parameters = PostgresParameters(device)
    parameters.append(array: zones)
    return try connection.query(Read.findFollowed, parameters).texts.sorted()
  }

  func user(named name: String) throws -> FoundUser? {
    let rows = try connection.query(Read.findUser, PostgresParameters(name))
    return rows.isEmpty
      ? nil : FoundUser(id: rows.text(0, 0), name: rows.text(0, 1), issuer: rows.optionalText(0, 2))
  }

  func hasTicket(_ ticket: TokenHash, at now: Int64) throws -> Bool {
    try !connection.query(
      Read.findTicket, PostgresParameters(ticket.withBytes { Array($0) }, now)
    ).isEmpty
  }

  func account(_ name: String) throws -> (id: String, password: String)? {
    let rows = try connection.query(Read.findAccount, PostgresParameters(name))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func account(id: String) throws -> (name: String, password: String)? {
    let rows = try connection.query(Read.findAccountOfID, PostgresParameters(id))
    return rows.isEmpty ? nil : (rows.text(0, 0), rows.text(0, 1))
  }

  func zones(of device: DeviceKey) throws -> [ZoneProgress] { try found(device.token).zones }

  func answer(to request: QuietRequest, of device: DeviceKey) -> [UInt8]? {
    guard let read = self.device, read.device?.key.number == device.number else { return nil }
    return cache.answer(to: request, of: device.number, in: read.snapshot)
  }

  func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey) {
    guard let read = self.device, read.device?.key.number == device.number else { return }
    cache.keep(answer, to: request, of: device.number, in: read.snapshot)
  }

  func refusals(of device: Int64) throws -> [StoredRefusal] {
    if let known = self.device?.device, known.key.number == device {
      return try found(known.key.token).refusals
    }
    throw ServerError(.damaged, "The refusals of a device are read with it alone.")
  }

  func unnotified(_ zones: [String]?, limit: Int) throws -> [UnnotifiedZone] {
    var parameters = PostgresParameters(Int64(limit))
    if let zones { parameters.append(array: zones) }
    let rows = try connection.query(zones == nil ? Read.findAllUnnotified : Read.findUnnotified, parameters)
    return rows.indices.map { row in
      UnnotifiedZone(
        zone: rows.text(row, 0), seq: rows.int64(row, 1), isPublic: rows.bool(row, 2),
        users: (rows.optionalText(row, 3) ?? "").split(separator: " ").map(String.init))
    }
  }

  func moment<Result>(_ body: () throws -> Result) throws -> Result {
    try connection.run(PostgresChangeFeed.begin)
    reading = .inTransaction
    return try readInTransaction(body)
  }

  /// Reads from the look-up, which is made if needed. If it lacks rows, `body` runs again in a transaction and reads step by step.
  func moment<Result>(of lookUp: LookUp, _ body: () throws -> Result) throws -> Result {
    count = lookUp.count
    if findings.devices[lookUp.token] == nil { try self.lookUp([lookUp]) }
    do {
      reading = .whole
      defer { reading = .freely }
      return try body()
    } catch is Incomplete {
      reading = .opening
      return try readInTransaction(body)
    }
  }

  /// The look-up of the other requests stays valid, because it has a snapshot of its own.
  private func readInTransaction<Result>(_ body: () throws -> Result) throws -> Result {
    let others = findings
    findings.removeAll()
    moment += 1
    defer {
      findings = others
      // The transaction has only read, so its end does not matter.
      if reading == .inTransaction { _ = try? connection.run(PostgresChangeFeed.end) }
      reading = .freely
    }
    return try body()
  }

  /// Ensures that the next read is from the snapshot of the previous ones.
  ///
  /// - Throws: `Incomplete` if that needs a transaction.
  private func requireMoment() throws { if case .whole = reading { throw Incomplete() } }

  func zone(_ zone: String, for user: String?) throws -> ZoneProgress? {
    if let device, device.device?.key.user == user, let seen = device.zones.first(where: { $0.zone == zone })
    {
      return seen.acked(nil)
    }
    try requireMoment()
    return try feed.zone(zone, for: user, on: connection)
  }

  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark> {
    try requireMoment()
    let rows = try connection.query(Read.findClaims, PostgresParameters(user))
    let claims = rows.indices.map {
      (
        rows.text($0, 0),
        ZoneClaim.Mark(device: rows.int64($0, 1), state: rows.int64($0, 2), isProven: rows.bool($0, 3))
      )
    }
    return TextMap(claims)
  }

  func memberships(of user: String) throws -> [String] {
    try connection.query(Read.findMemberships, PostgresParameters(user)).texts.sorted()
  }

  func restored(_ zones: [String]) throws -> TextMap<RestoredZone> {
    try requireMoment()
    let names = PostgresParameters(array: zones)
    let rows = try connection.query(Read.findRestored, names)
    return TextMap(
      rows.indices.map {
        (rows.text($0, 0), RestoredZone(seq: rows.int64($0, 1), purged: rows.int64($0, 2)))
      })
  }

  func refreshed(_ zones: [ZoneProgress]) throws -> [ZoneProgress] {
    let unread = zones.filter { !isKnown($0, count) }
    if unread.isEmpty { return zones }
    let read = try stretches(of: unread)
    findings.add(read, in: moment)
    let refreshed = TextMap(read.map { ($0.zone.zone, $0.zone) }, uniquingKeysWith: { $1 })
    return zones.map { refreshed[$0.zone] ?? $0 }
  }

  /// Whether the changes of a zone were read. Without a device the history of the snapshot is unknown, so cached parts do not count.
  private func isKnown(_ zone: ZoneProgress, _ count: Int64) -> Bool {
    if let device { return findings.has(zone, count: count, epoch: epoch, in: device.moment) }
    return findings.stretches[PostgresStretch.Key(zone, in: moment)] != nil
  }

  private func stretches(of zones: [ZoneProgress]) throws -> [PostgresStretch] {
    try requireTransaction()
    return try feed.read(zones, on: connection)
  }

  private func requireTransaction() throws {
    try requireMoment()
    guard reading == .inTransaction else {
      throw ServerError(.damaged, "The changes of a zone are read in one moment with it.")
    }
  }

  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  {
    try PostgresPurge(connection: connection).find(kind, after: place, terms, limit: limit)
  }

  func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
  {
    if device != nil, let part = findings.parts[zone, count, epoch], writer.count + part.bytes.count <= limit
    {
      writer.rawValue(part.bytes)
      return part.written
    }
    let start = writer.count
    let known = findings.stretches[PostgresStretch.Key(zone, in: device?.moment ?? moment)]
    guard let first = try known ?? stretches(of: [zone]).first else {
      throw ServerError(.damaged, "The changes of a zone can't be read.")
    }
    var changes = PostgresChangeWriter(feed, zone, limit: limit, count: count)
    let reader = PostgresStretchReader(feed, on: connection)
    let written = try changes.write(first, to: &writer) { zone, size, work in
      try requireTransaction()
      return try reader.next(zone, size: size, meanwhile: work)
    }
    if device != nil, !written.hasMore || written.count >= count,
      findings.parts.wants(writer.count - start, of: zone, count, epoch)
    {
      findings.parts.put(writer.withBytes { Array($0[start...]) }, written, of: zone, count, epoch)
    }
    return written
  }
}
