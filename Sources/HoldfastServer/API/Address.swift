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
  case snapshot(zone: String)

  /// The address of a path, given as its parts; nil when there is nothing.
  init?(_ parts: [String]) {
    switch parts {
    case ["v1", "sync"]: self = .sync
    case ["v1", "accounts"]: self = .accounts
    case ["v1", "sessions"]: self = .sessions
    case ["v1", "sessions", "current"]: self = .currentSession
    case ["v1", "devices"]: self = .devices
    case ["v1", "events"]: self = .events
    case let parts where parts.count == 4 && parts[..<2] == ["v1", "zones"] && parts[3] == "snapshot":
      self = .snapshot(zone: parts[2])
    case ["v1", "schema"]: self = .schema
    case ["healthz"]: self = .health
    case ["readyz"]: self = .readiness
    default: return nil
    }
  }

  /// What may be done here; `HEAD` goes with `GET`, but for the stream of events, which has no end.
  var methods: [String] {
    switch self {
    case .sync, .accounts, .sessions, .devices: ["POST"]
    case .currentSession: ["DELETE"]
    case .events: ["GET"]
    case .schema, .health, .readiness, .snapshot: ["GET", "HEAD"]
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
