import HoldfastCore

/// An address of the protocol: what stands at a path.
enum Address: Equatable {
  case sync
  case accounts
  case sessions
  case currentSession
  case devices
  case events
  case schema
  case health
  case readiness
  /// The records of the table of this index.
  case table(Int)
  case zones
  /// The changes of the zone of this name.
  case changes(String)

  /// The address of a path, given as its parts; nil when there is nothing.
  ///
  /// - Parameter schema: has the tables.
  init?(_ parts: [String], _ schema: Schema) {
    switch parts {
    case ["v1", "sync"]: self = .sync
    case ["v1", "accounts"]: self = .accounts
    case ["v1", "sessions"]: self = .sessions
    case ["v1", "sessions", "current"]: self = .currentSession
    case ["v1", "devices"]: self = .devices
    case ["v1", "events"]: self = .events
    case ["v1", "schema"]: self = .schema
    case ["healthz"]: self = .health
    case ["readyz"]: self = .readiness
    case ["v1", "zones"]: self = .zones
    default:
      guard parts.count >= 3, parts[0] == "v1" else { return nil }
      switch (parts[1], parts.count) {
      case ("tables", 3):
        guard let table = schema.index(of: parts[2]) else { return nil }
        self = .table(table)
      case ("zones", 4) where parts[3] == "changes": self = .changes(parts[2])
      default: return nil
      }
    }
  }

  /// What may be done here; `HEAD` goes with `GET`, but for the stream of events, which has no end.
  var methods: [String] {
    switch self {
    case .sync, .accounts, .sessions, .devices: ["POST"]
    case .currentSession: ["DELETE"]
    case .events, .table, .zones, .changes: ["GET"]
    case .schema, .health, .readiness: ["GET", "HEAD"]
    }
  }

  /// Whether it is answered without the database.
  var isImmediate: Bool {
    switch self {
    case .schema, .health, .readiness: true
    default: false
    }
  }
}
