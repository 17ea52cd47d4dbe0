package import Foundation
package import HoldfastCore
package import HoldfastHTTP
import HoldfastPostgres
package import HoldfastSQLite
@testable import HoldfastSQLiteStore
@testable package import HoldfastServer
@testable package import HoldfastService
package import Synchronization
import TemporaryPostgres
import Testing

/// A clock that stands until it is moved, and random bytes that a seed decides.
package final class TestWorld: Sendable {
  private let time = Mutex<Int64>(1_800_000_000_000)
  /// How far the clock was set ahead of the time that passes.
  private let ahead = Mutex<Int64>(0)
  private let seed = Mutex<UInt64>(1)

  /// The size of an answer from which on no further change is begun, of servers opened from now on.
  package let answerSize = Mutex<Int>(4 << 20)
  /// The most records of a result, on servers opened from now on; nil for the usual limit.
  package let resultLimit = Mutex<Int?>(nil)
  /// What one user may have, on servers opened from now on.
  package let limits = Mutex<UserLimits>(generous)
  /// How much a zone may hold, on servers opened from now on.
  package let zoneLimits = Mutex<ZoneLimits>(ZoneLimits())
  /// After how many change sets or items of a request others go first, on servers opened from now on.
  package let changeSetBudget = Mutex<Int>(.max)
  /// How much work a change set may be before its last operation, on servers opened from now on.
  package let changeSetWork = Mutex<Int>(ChangeSetWork.limit)
  package let pieceWork = Mutex<Int>(ChangeSetWork.limit / 20)
  /// How many milliseconds pass whenever a server asks for the time.
  package let slowness = Mutex<Int64>(0)

  package init() {}

  /// Nothing is refused for its rate, but where a test is about that.
  private static var generous: UserLimits {
    var limits = UserLimits()
    (limits.signUpsInHour, limits.sessionsInHour) = (.max, .max)
    return limits
  }

  /// What the clock shows.
  package var now: Int64 { passed + ahead.withLock { $0 } }

  private var passed: Int64 { time.withLock { $0 } }

  /// Sets the clock, without that any time passes.
  package func setClock(ahead milliseconds: Int64) { ahead.withLock { $0 = milliseconds } }

  package func advance(_ milliseconds: Int64) { time.withLock { $0 += milliseconds } }

  package func random(_ count: Int) -> [UInt8] {
    seed.withLock { seed in
      (0..<count).map { _ in
        seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: seed >> 33)
      }
    }
  }

  package func id() -> String {
    let words = random(16).withUnsafeBytes {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
    return Identifier.make(milliseconds: now, random: words)
  }

  package var environment: ServerEnvironment {
    var environment = ServerEnvironment(
      now: {
        self.advance(self.slowness.withLock { $0 })
        return self.now
      }, random: { self.random($0) },
      passwords: PasswordHashing(hash: { "hash of " + $0 }, verify: { "hash of " + $0 == $1 }, decoy: "none"))
    environment.measured = {
      self.advance(self.slowness.withLock { $0 })
      return self.passed
    }
    environment.answerSize = answerSize.withLock { $0 }
    environment.resultLimit = resultLimit.withLock { $0 } ?? environment.resultLimit
    environment.limits = limits.withLock { $0 }
    environment.zoneLimits = zoneLimits.withLock { $0 }
    environment.writeBudget.changeSets = changeSetBudget.withLock { $0 }
    environment.changeSetWork = changeSetWork.withLock { $0 }
    environment.pieceWork = pieceWork.withLock { $0 }
    return environment
  }
}

/// The engines that the one suite of the store contract runs on, as HOLDFAST_TEST_STORE says: SQLite, or `postgres`.
package enum Engine {
  case sqlite, postgres

  package static var used: Engine { TemporaryPostgres.isChosen ? .postgres : .sqlite }

  /// Databases with the tables of a schema, which others begin as copies of: that is several times as fast as making the tables again.
  private static let templates = Mutex<[[UInt8]: String]>([:])

  /// A new place for a database.
  ///
  /// - Parameter schema: whose tables it has from the start on PostgreSQL; nil for an empty database.
  package func makeLocation(
    in folder: URL, schema: SyncSchema? = nil, rules: Rules = Rules()
  ) throws -> DatabaseLocation {
    switch self {
    case .sqlite: return .directory(folder.path)
    case .postgres:
      let url = try schema.map { try makeDatabase($0, rules) } ?? TemporaryPostgres.shared.makeDatabase()
      let pooled = try TemporaryPostgres.pooled(url)
      return .postgres(PostgresLocation(pooled ?? url, direct: pooled == nil ? nil : url))
    }
  }

  /// A new database with the tables of a schema, that no server has served yet.
  package func makeDatabase(_ schema: SyncSchema, _ rules: Rules = Rules()) throws -> String {
    let template = try Self.templates.withLock { templates in
      let key = schema.json.bytes
      if let made = templates[key] { return made }
      let url = try TemporaryPostgres.shared.makeDatabase()
      _ = try InlineServer(
        .postgres(PostgresLocation(url)), schema: schema, rules: rules, environment: TestWorld().environment)
      // A copy of a database that was served is noticed by its next server: these are to look new.
      try PostgresConnection(url).execute("DELETE FROM holdfast.meta WHERE key = 'history'")
      templates[key] = url
      return url
    }
    return try TemporaryPostgres.shared.makeDatabase(copying: template)
  }
}

/// A server on real files, without threads, and what tests need around it.
package final class TestServer {
  package let world = TestWorld()
  package let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "holdfast-server-\(UUID().uuidString)")
  package var inline: InlineServer?
  package private(set) var location: DatabaseLocation
  /// The identity provider whose tokens it takes.
  package var provider: IdentityProviderConfiguration?
  private let allowsSignUp: Bool
  /// The directory that its database has joined, from the next `reopen` on.
  package var directory: DirectoryConfiguration?
  package private(set) var failures = Failures()
  /// The tokens of the users' last sessions, by their names.
  private var tokens: TextMap<String> = [:]

  /// Collects what the server logged as unexpected.
  package final class Failures: Sendable {
    package let lines = Mutex<[String]>([])

    package init() {}
  }

  package convenience init(_ schema: SyncSchema? = nil, engine: Engine = .used, rules: Rules = Rules()) throws
  {
    let schema = try schema ?? Self.schema()
    try self.init(schema, rules: rules) { try engine.makeLocation(in: $0, schema: schema, rules: rules) }
  }

  /// A server that takes the tokens of an identity provider.
  package convenience init(provider: IdentityProviderConfiguration, allowsSignUp: Bool = true) throws {
    let schema = try Self.schema()
    try self.init(
      schema, location: { try Engine.used.makeLocation(in: $0, schema: schema) }, provider: provider,
      allowsSignUp: allowsSignUp)
  }

  package init(
    _ schema: SyncSchema? = nil, rules: Rules = Rules(), location make: (URL) throws -> DatabaseLocation,
    provider: IdentityProviderConfiguration? = nil, allowsSignUp: Bool? = nil
  ) throws {
    location = try make(folder).unhurried
    self.provider = provider
    self.allowsSignUp = allowsSignUp ?? true
    inline = try InlineServer(
      location, schema: try schema ?? Self.schema(), rules: rules, environment: world.environment,
      identityProvider: provider, allowsSignUp: self.allowsSignUp, log: log())
  }

  /// A server on a PostgreSQL database that a team has made, whose tables it adopts as they are proposed.
  package convenience init(adopting url: String) throws {
    let adoption = Adoption(PostgresLocation(url))
    let schema = try SyncSchema(json: Array(adoption.propose().text.utf8))
    try adoption.apply(schema)
    try self.init(adopted: url, schema)
  }

  /// A server on a PostgreSQL database that has its tables.
  package init(adopted url: String, _ schema: SyncSchema) throws {
    location = DatabaseLocation.postgres(PostgresLocation(url)).unhurried
    allowsSignUp = true
    inline = try InlineServer(location, schema: schema, environment: world.environment, log: log())
  }

  deinit {
    inline = nil
    try? FileManager.default.removeItem(at: folder)
  }

  package var path: String { folder.path }

  package var database: String { folder.appendingPathComponent("holdfast.db").path }

  /// Closes the database and opens it again, as after a restart.
  package func reopen(_ schema: SyncSchema? = nil, removals: Removals = .refuse) throws {
    inline = nil
    inline = try InlineServer(
      location, schema: schema, removals: removals, environment: world.environment,
      identityProvider: provider, allowsSignUp: allowsSignUp, directory: directory, log: log())
  }

  /// Opens the database again with another limit on the time of a reading statement, in PostgreSQL.
  package func reopen(readTimeLimit: Duration) throws {
    if case .postgres(var postgres) = location {
      postgres.readTimeLimit = readTimeLimit
      location = .postgres(postgres)
    }
    try reopen()
  }

  /// Changes the database behind the server's back.
  package func change(sqlite: String, postgres: String) throws {
    switch location {
    case .directory: try SQLiteConnection(path: database).execute(sqlite)
    case .postgres(let location): try PostgresConnection(location.direct ?? location.url).execute(postgres)
    }
  }

  /// Takes the last changes of a zone out of the database, records that were made in it, as one that was put back lacks them.
  package func goBack(behind items: [String], in zone: String) throws {
    let ids = items.map { "'\($0)'" }.joined(separator: ", ")
    try change(
      sqlite: """
        DELETE FROM items WHERE id IN (\(ids));
        UPDATE holdfast_zones SET seq = seq - \(items.count) WHERE zone = '\(zone)';
        """,
      postgres: """
        BEGIN; SET LOCAL holdfast.service = 'on'; DELETE FROM items WHERE id IN (\(ids));
        DELETE FROM holdfast.records WHERE id IN (\(ids));
        UPDATE holdfast.zones SET seq = seq - \(items.count) WHERE zone = '\(zone)';
        UPDATE holdfast.zones z SET records = d.held, bytes = d.size FROM (\(PostgresCounting.differences)) d
        WHERE z.zone = d.zone; COMMIT
        """)
    guard case .directory = location, let inline else { return }
    let connection = try SQLiteConnection(path: database, access: .readWrite)
    try SQLiteCounting(schema: inline.api.schema, connection: connection).mend()
  }

  /// A number of the first device.
  package func integer(ofDevices column: String) throws -> Int64? {
    switch location {
    case .directory:
      return try SQLiteConnection(path: database, access: .readOnly).value(
        "SELECT \(column) FROM holdfast_devices")?.integer
    case .postgres(let location):
      let sql = PostgresStatement("SELECT \(column) FROM holdfast.devices ORDER BY number")
      return try PostgresConnection(location.direct ?? location.url).query(sql).int64(0, 0)
    }
  }

  /// The number that a query answers.
  package func integer(_ sqlite: String, _ postgres: String) throws -> Int64? {
    switch location {
    case .directory:
      return try SQLiteConnection(path: database, access: .readOnly).value(sqlite)?.integer
    case .postgres(let location):
      return try PostgresConnection(location.direct ?? location.url).query(PostgresStatement(postgres)).int64(
        0, 0)
    }
  }

  /// All that is stored.
  package func dump() throws -> String {
    switch location {
    case .directory:
      return String(decoding: try Data(contentsOf: URL(fileURLWithPath: database)), as: UTF8.self)
    case .postgres(let location):
      let rows = try PostgresConnection(location.direct ?? location.url).query(
        "SELECT database_to_xml(true, false, '')::text")
      return rows.text(0, 0)
    }
  }

  /// The connection of the server that writes, in SQLite.
  package var connection: SQLiteConnection {
    get throws { try #require(inline?.service.work.store as? SQLiteStore).connection }
  }

  package func respond(to request: HTTPRequest) throws -> HTTPResponse {
    try #require(inline).respond(to: request)
  }

  /// Signs a new user up, on a first device.
  package func signUp(_ name: String) throws -> TestDevice {
    try TestDevice(self, session("/v1/accounts", name, device: nil))
  }

  /// Signs a user in, on one more device.
  package func signIn(_ name: String, device: String? = nil) throws -> TestDevice {
    try TestDevice(self, session("/v1/sessions", name, device: device))
  }

  package func post(_ path: String, _ body: JSONValue, token: String? = nil) throws -> HTTPResponse {
    try post(path, bytes: body.bytes, token: token)
  }

  package func post(_ path: String, bytes: [UInt8], token: String? = nil) throws -> HTTPResponse {
    try respond(to: Self.request("POST", path, bytes, token: token))
  }

  package static func request(_ method: String, _ path: String, _ body: [UInt8], token: String?)
    -> HTTPRequest
  {
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    return HTTPRequest(method: method, target: path, headers: headers, body: body)
  }

  /// How far a user's devices are behind.
  package func lag(of user: String) throws -> [DeviceLag] {
    try #require(inline).api.database.read { try $0.lag(of: user) }
  }

  /// The doctor's findings and what went wrong unexpectedly; empty when all is well.
  package func findings() throws -> [String] {
    let administration =
      try inline.map { try Administration($0.api.database, location) } ?? Administration(location)
    return try administration.doctor().map(\.description) + failures.lines.withLock { $0 }
  }

  private func session(_ path: String, _ name: String, device: String?) throws -> JSONValue {
    var members: [JSONValue.Member] = [.init("name", .string(name + "'s device"))]
    if let device { members.append(.init("id", .string(device))) }
    let answer = try post(
      path, ["name": .string(name), "password": "correct horse", "device": .object(members)])
    try #require(answer.status < 300)
    let session = try JSONValue(parsing: answer.body)
    tokens[name] = session["token"]?.stringValue
    return session
  }

  /// A user accepts a membership, if it waits for the user's word.
  package func accept(_ membership: String, by name: String) throws {
    guard let token = tokens[name] else { return }
    _ = try respond(to: Self.request("POST", "/v1/memberships/\(membership)/accept", [], token: token))
  }

  private func log() -> @Sendable (String) -> Void {
    let failures = failures
    return { line in failures.lines.withLock { $0.append(line) } }
  }

  package static func schema() throws -> SyncSchema { try SyncSchema(json: Array(text.utf8)) }

  package static let text = """
    {"holdfast": 1, "name": "test", "tables": {
      "lists": {"zone": "root", "columns": {
        "title": {"type": "text", "required": true, "max_length": 20}, "note": {"type": "text"}}},
      "tags": {"zone": {"parent": "list_id"}, "unique": [["name"]], "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "name": {"type": "text", "required": true}}},
      "items": {"zone": {"parent": "list_id"}, "columns": {
        "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
        "title": {"type": "text", "required": true}, "note": {"type": "text", "merge": "server"},
        "done": {"type": "boolean", "required": true, "default": false},
        "amount": {"type": "integer", "min": 0, "max": 10},
        "tag_id": {"type": "reference", "to": "tags", "on_delete": "set_null"}}},
      "seals": {"zone": {"parent": "item_id"}, "columns": {
        "item_id": {"type": "reference", "to": "items", "required": true, "on_delete": "restrict"}}},
      "notes": {"zone": "user", "columns": {
        "text": {"type": "text", "required": true},
        "list_id": {"type": "reference", "to": "lists", "on_delete": "set_null", "across": true}}},
      "products": {"zone": {"public": "catalogue"}, "columns": {"name": {"type": "text", "required": true}}}
    }}
    """
}

extension DatabaseLocation {
  /// The same without the limit of reading that a busy machine reaches.
  fileprivate var unhurried: DatabaseLocation {
    guard case .postgres(var location) = self else { return self }
    location.readTimeLimit = .seconds(3600)
    return .postgres(location)
  }
}
