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
  /// What all readers know.
  private let cache: PostgresReadCache
  /// The device of the current request.
  private var device: PostgresFindings.Found?
  /// The maximum number of changes of a page.
  private var count = Int64.max
  private var reading = Reading.freely
  /// The state of the last look-up, or of the transaction; nil where it has looked nothing up.
  private var moment: SnapshotState?
  /// Whether transactions of the connection are repeatable reads by default.
  private let isRepeatable: Bool

  /// From how many zones on it takes longer to read them again than to ask once more.
  private static let manyZones = 64

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
    _ cache: PostgresReadCache, isRepeatable: Bool
  ) {
    self.cache = cache
    findings = PostgresFindings(parts, feed.hints)
    self.isRepeatable = isRepeatable
    self.connection = connection
    self.known = known
    history = known.now
    self.feed = feed
    self.statements = statements
    self.collections = collections
  }

  /// Starts the next request of those that the last look-up includes.
  func begin() { (device, count) = (nil, .max) }

  /// Lets go of what was looked up: while a reader rests, the cache is to have the arrays of zones to itself, as it would copy them to change one.
  func end() {
    begin()
    findings.removeAll()
  }

  /// No transaction is needed: one pipeline reads a device and its zones from one snapshot.
  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try body() }

  func device(_ token: TokenHash) throws -> KnownDevice? {
    let found = try found(token)
    (history, device) = (found.history, found)
    return found.device
  }

  private func found(_ token: TokenHash) throws -> PostgresFindings.Found {
    if let found = findings.devices[token] { return found }
    try requireMoment()
    if case .freely = reading { try ask([token], []) } else { _ = try find([token], []) }
    guard let found = findings.devices[token] else {
      throw ServerError(.damaged, "A device can't be looked up.")
    }
    return found
  }

  /// Records the history that was read.
  func learn(history rows: PostgresRows) throws {
    history = try PostgresEpoch.current(rows, on: connection)
    known.see(history)
  }

  /// Looks up devices with the changes that their requests need, if these are few. A second pipeline reads changes that the first one has found.
  func lookUp(_ lookUps: [LookUp]) throws {
    var tokens = Set(lookUps.map(\.token))
    if let state = cache.state, let next = state.next {
      // An answer to a write may be of its commit. Who also asks for anything else began later, and may have seen what others have written since.
      let others = Set(lookUps.filter { ($0.written ?? .max) >= next }.map(\.token))
      let known = remembered(tokens.subtracting(others), at: state)
      findings.add(known)
      tokens.subtract(known.keys)
    }
    if !tokens.isEmpty { try ask(tokens, lookUps.filter { tokens.contains($0.token) }) }
    var rest = lookUps.filter { findings.isMissing($0) }
    // To read many zones again takes longer than to find out that nobody has written since.
    if rest.reduce(0, { $0 + (findings.devices[$1.token]?.zones.count ?? 0) }) > Self.manyZones {
      _ = try find([], guessing: findings.missing(of: rest))
      rest = rest.filter { findings.isMissing($0) }
    }
    if !rest.isEmpty { _ = try find(Set(rest.map(\.token)), guessing: findings.missing(of: rest)) }
  }

  /// Reads devices, except those that are known in the state that is found.
  private func ask(_ tokens: Set<TokenHash>, _ lookUps: [LookUp]) throws {
    let before = cache.state
    var known = before.map { remembered(tokens, at: $0) } ?? [:]
    let hoped = Set(known.keys)
    let guesses = findings.guesses(of: lookUps)
    let state = try find(tokens.subtracting(hoped), guessing: guesses)
    if state != before { known = remembered(hoped, at: state) }
    findings.add(known)
    let rest = hoped.subtracting(known.keys)
    if !rest.isEmpty { _ = try find(rest, guessing: guesses) }
  }

  /// The devices that are known in a state, as far as it is of the current epoch.
  private func remembered(_ tokens: Set<TokenHash>, at state: SnapshotState) -> [TokenHash: PostgresFindings
    .Found]
  {
    if tokens.isEmpty { return [:] }
    let epoch = known.now.epoch
    return cache.devices(tokens, at: state).filter { $1.history.epoch == epoch }
  }

  /// Reading ahead may name a table that is not needed and that the role may not read. Then each request reads its rows by itself.
  private func find(_ tokens: Set<TokenHash>, guessing zones: [ZoneProgress]) throws -> SnapshotState {
    do { return try find(tokens, zones) } catch is PostgresError where !zones.isEmpty && connection.isUsable {
      return try find(tokens, [])
    }
  }

  private var epoch: String { history.epoch }

  /// Reads devices with their zones and refusals, the history, and changes of zones, in one state of the database. Without devices it reads
  /// which state that is.
  private func find(_ tokens: Set<TokenHash>, _ zones: [ZoneProgress]) throws -> SnapshotState {
    let asked = Self.byBytes(tokens)
    let hashes = PostgresParameters(array: asked.keys)
    let isOpening = reading == .opening
    // A pooler's connection has no settings of its own.
    let isAlone = !isRepeatable && !isOpening && reading != .inTransaction
    var first = 0
    var changes: PostgresChangeFeed.Asked?
    let connections = cache.connections
    let answers = try connection.pipeline { pipe in
      if isOpening || isAlone { pipe.send(PostgresChangeFeed.begin) }
      first = pipe.send(tokens.isEmpty ? statements.findSnapshot : statements.findHistory)
      if !tokens.isEmpty {
        pipe.send(Read.findDevices, hashes)
        pipe.send(Read.findZones, hashes)
      }
      if !zones.isEmpty {
        changes = feed.ask(zones, size: Int(PostgresChangeFeed.few) * 2, isLast: true, pipe)
      }
      if isAlone { pipe.send(PostgresChangeFeed.end) }
    }
    if isOpening { reading = .inTransaction }
    let state = SnapshotState(Read.snapshot(in: answers[first]), connections: connections)
    moment = state
    if !tokens.isEmpty {
      try learn(history: answers[first])
      let found = try Read.found(asked, answers[first + 1], answers[first + 2], history, in: state)
      findings.add(found)
      // Else the connection leads to a database that another one has replaced.
      if known.now.epoch == epoch { cache.keep(found.values, history, at: state) }
    }
    if let changes {
      let read = feed.stretches(changes, of: zones, answers).filter { feed.missingTables(of: $0).isEmpty }
      findings.add(read, in: state)
    }
    return state
  }

  private static func byBytes(_ tokens: some Sequence<TokenHash>) -> [[UInt8]: TokenHash] {
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
    return cache.rows.find(at: read.state) { $0.answer(to: request, of: device.number) }
  }

  func keep(_ answer: [UInt8], to request: QuietRequest, of device: DeviceKey) {
    guard let read = self.device, read.device?.key.number == device.number else { return }
    cache.rows.keep(at: read.state) { $0.keep(answer, to: request, of: device) }
  }

  func refusals(of device: Int64) throws -> [StoredRefusal] {
    if let known = self.device?.device, known.key.number == device {
      return try found(known.key.token).refusals
    }
    throw ServerError(.damaged, "The refusals of a device are read with it alone.")
  }

  func zonesToNotify(_ zones: [String]) throws -> [UnnotifiedZone] {
    let rows = try connection.query(Read.findZonesToNotify, PostgresParameters(array: zones))
    return rows.indices.map { row in
      UnnotifiedZone(
        zone: rows.text(row, 0), seq: rows.int64(row, 1), isPublic: rows.bool(row, 2),
        users: (rows.optionalText(row, 3) ?? "").split(separator: " ").map(String.init))
    }
  }

  func unnotifiedZones(after place: String, limit: Int) throws -> [String] {
    var parameters = PostgresParameters(place)
    parameters.append(Int64(limit))
    return try connection.query(Read.findUnnotified, parameters).texts
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
    moment = nil
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
  func requireMoment() throws { if case .whole = reading { throw Incomplete() } }

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
    if let device { return findings.has(zone, count: count, of: device) }
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
    let known = findings.stretches[PostgresStretch.Key(zone, in: device?.state ?? moment)]
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
