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
  case openAPI
  case health
  case readiness

  /// The address of a path, given as its parts; nil when there is nothing.
  init?(_ parts: [String]) {
    switch parts {
    case ["v1", "sync"]: self = .sync
    case ["v1", "accounts"]: self = .accounts
    case ["v1", "sessions"]: self = .sessions
    case ["v1", "sessions", "current"]: self = .currentSession
    case ["v1", "devices"]: self = .devices
    case ["v1", "events"]: self = .events
    case ["v1", "schema"]: self = .schema
    case ["openapi.json"]: self = .openAPI
    case ["healthz"]: self = .health
    case ["readyz"]: self = .readiness
    default: return nil
    }
  }

  /// What may be done here, besides `HEAD` and `OPTIONS`.
  private var actions: [String] {
    switch self {
    case .sync, .accounts, .sessions, .devices: ["POST"]
    case .currentSession: ["DELETE"]
    case .events, .schema, .openAPI, .health, .readiness: ["GET"]
    }
  }

  /// The methods of the address. `HEAD` goes with `GET`, but for the stream of events, which has no end.
  var methods: [String] {
    actions + (actions.contains("GET") && self != .events ? ["HEAD"] : []) + ["OPTIONS"]
  }

  /// The media type of its answers.
  var mediaType: String { self == .events ? "text/event-stream" : "application/json" }

  /// Whether it is answered without the database.
  var isImmediate: Bool {
    switch self {
    case .schema, .openAPI, .health, .readiness: true
    default: false
    }
  }
}
