import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// An endpoint of the protocol.
enum Address: Equatable {
  case sync
  case accounts
  case sessions
  case currentSession
  case devices
  /// The push token of the sending device.
  case pushToken
  /// The user with the name in the query.
  case users
  /// The passes for other databases.
  case passes
  /// The databases of the directory.
  case databases
  /// The device of this id.
  case device(String)
  /// The user's own account.
  case account
  case password
  /// The records that the user may read, as JSON Lines, or one table by its index, as CSV.
  case export(table: Int?)
  case events
  case eventTickets
  /// The records of a table, by its index in the schema.
  case records(table: Int)
  case record(table: Int, id: String)
  /// Restores a record.
  case restoration(table: Int, id: String)
  /// Resolves a conflict with one of its values.
  case resolution(id: String)
  case batch
  case schema
  case openAPI
  case health
  case readiness
  /// The snapshot of the zone of this name.
  case snapshot(String)
  case zones
  /// The invitations to the zone of this name.
  case invitations(String)
  /// An invitation, by its zone and its id.
  case invitation(String, id: String)
  case acceptance
  case invitationLook
  /// The memberships that wait for the user's consent.
  case memberships
  /// A membership by its id.
  case membership(String)
  case membershipAcceptance(String)
  /// The user's own membership of the zone of this name.
  case ownMembership(String)
  /// The zones that use the zone of this name as a group of members.
  case grants(String)
  case grant(String, id: String)
  /// The users whom the user has blocked.
  case blocks
  case block(String)
  /// The changes of the zone of this name.
  case changes(String)

  /// The endpoint of a request.
  ///
  /// - Throws: `Problem.notFound` if there is none.
  init(of request: HTTPRequest, in schema: SyncSchema) throws(Problem) {
    if request.target == "/v1/sync" {
      self = .sync
      return
    }
    guard let parts = request.pathParts else { throw Problem(.notFound) }
    if parts.count > 2, parts[0] == "v1", parts[1] == "tables" {
      self = try Self.inTables(parts.dropFirst(2), schema)
      return
    }
    if parts.count > 3 {
      self = try Self.named(parts, schema)
      return
    }
    switch parts {
    case ["v1", "sync"]: self = .sync
    case ["v1", "accounts"]: self = .accounts
    case ["v1", "sessions"]: self = .sessions
    case ["v1", "sessions", "current"]: self = .currentSession
    case ["v1", "devices"]: self = .devices
    case ["v1", "push-token"]: self = .pushToken
    case ["v1", "users"]: self = .users
    case ["v1", "passes"]: self = .passes
    case ["v1", "databases"]: self = .databases
    case ["v1", "account"]: self = .account
    case ["v1", "account", "password"]: self = .password
    case ["v1", "account", "export"]: self = .export(table: nil)
    case ["v1", "events"]: self = .events
    case ["v1", "events", "tickets"]: self = .eventTickets
    case ["v1", "batch"]: self = .batch
    case ["v1", "zones"]: self = .zones
    case ["v1", "invitations", "accept"]: self = .acceptance
    case ["v1", "invitations", "look"]: self = .invitationLook
    case ["v1", "memberships"]: self = .memberships
    case ["v1", "blocks"]: self = .blocks
    case ["v1", "schema"]: self = .schema
    case ["openapi.json"]: self = .openAPI
    case ["healthz"]: self = .health
    case ["readyz"]: self = .readiness
    default:
      self = try Self.named(parts, schema)
    }
  }

  /// An endpoint whose path contains a name.
  private static func named(_ parts: [String], _ schema: SyncSchema) throws(Problem) -> Address {
    // No name contains U+0000, which PostgreSQL can't store.
    if parts.contains(where: { $0.utf8.contains(0) }) { throw Problem(.notFound) }
    if parts.count == 3, parts[0] == "v1", !parts[2].isEmpty {
      switch parts[1] {
      case "devices": return .device(parts[2])
      case "memberships": return .membership(parts[2])
      case "blocks": return .block(parts[2])
      default: throw Problem(.notFound)
      }
    }
    if parts.count == 5, parts[0] == "v1", parts[1] == "zones" {
      switch parts[3] {
      case "invitations": return .invitation(parts[2], id: parts[4])
      case "grants": return .grant(parts[2], id: parts[4])
      default: throw Problem(.notFound)
      }
    }
    guard parts.count == 4, parts[0] == "v1" else { throw Problem(.notFound) }
    switch (parts[1], parts[2], parts[3]) {
    case ("zones", let zone, "changes"): return .changes(zone)
    case ("zones", let zone, "invitations"): return .invitations(zone)
    case ("zones", let zone, "snapshot"): return .snapshot(zone)
    case ("zones", let zone, "membership"): return .ownMembership(zone)
    case ("zones", let zone, "grants"): return .grants(zone)
    case ("memberships", let id, "accept"): return .membershipAcceptance(id)
    case ("account", "export", let table):
      guard let table = schema.index(called: table) else {
        throw Problem(.notFound, "The schema has no table \(table.prefix(64)).")
      }
      return .export(table: table)
    default: throw Problem(.notFound)
    }
  }

  /// An endpoint below `/v1/tables/`.
  private static func inTables(_ parts: ArraySlice<String>, _ schema: SyncSchema) throws(Problem) -> Address {
    guard let name = parts.first, let table = schema.index(called: name) else {
      throw Problem(.notFound, "The schema has no table \((parts.first ?? "").prefix(64)).")
    }
    let rest = Array(parts.dropFirst())
    if rest.isEmpty { return .records(table: table) }
    if rest[0].isEmpty { throw Problem(.notFound) }
    if rest.count == 1 { return .record(table: table, id: rest[0]) }
    if rest.count == 2, rest[1] == "resolve", schema.tables[table].zone == .server {
      return .resolution(id: rest[0])
    }
    if rest.count == 2, rest[1] == "restore" { return .restoration(table: table, id: rest[0]) }
    throw Problem(.notFound)
  }

  /// The methods of the endpoint, without `HEAD` and `OPTIONS`.
  private func actions(in schema: SyncSchema) -> [String] {
    switch self {
    case .sync, .accounts, .passes, .batch, .resolution, .acceptance, .membershipAcceptance, .invitationLook,
      .eventTickets:
      ["POST"]
    case .sessions: ["POST", "DELETE"]
    case .devices, .invitations: ["GET", "POST"]
    case .password: ["PUT"]
    case .records(let table), .record(let table, _), .restoration(let table, _):
      schema.tables[table].zone == .server ? choosing : reading + writing
    case .block, .pushToken: ["PUT", "DELETE"]
    case .account, .currentSession, .device, .invitation, .membership, .ownMembership, .grant: ["DELETE"]
    case .export, .snapshot, .events, .zones, .changes, .memberships, .users, .databases, .grants, .blocks,
      .schema,
      .openAPI,
      .health, .readiness:
      ["GET"]
    }
  }

  private var reading: [String] {
    if case .restoration = self { [] } else { ["GET"] }
  }

  /// The methods of conflicts, which clients only read and resolve.
  private var choosing: [String] {
    if case .restoration = self { [] } else { ["GET", "PATCH"] }
  }

  private var writing: [String] {
    switch self {
    case .records: ["POST", "PATCH", "DELETE"]
    case .record: ["PATCH", "PUT", "DELETE"]
    default: ["POST"]
    }
  }

  /// All methods of the endpoint. Every `GET` has a `HEAD`, except the endless event stream.
  func methods(in schema: SyncSchema) -> [String] {
    let actions = actions(in: schema)
    return actions + (actions.contains("GET") && self != .events ? ["HEAD"] : []) + ["OPTIONS"]
  }

  /// The media type of its answers.
  var mediaType: String {
    switch self {
    case .events: "text/event-stream"
    case .snapshot: "application/vnd.sqlite3"
    case .export(let table): ExportLines.mediaType(table)
    default: "application/json"
    }
  }

  /// Whether it is answered without the database.
  var isImmediate: Bool {
    switch self {
    case .schema, .openAPI, .health, .readiness: true
    default: false
    }
  }
}
