import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// `/v1/events`: docs/PUSH.md.
struct EventRoutes {
  let api: API

  /// `GET /v1/events`.
  func events(_ request: HTTPRequest) throws -> Step {
    let key = try api.read { try api.sender(of: request, $0).key }
    // A stream outlives a JWT: its expiry can't be checked with each event.
    if case .provider = key.use { throw Problem(.tokenLimited, "Begin a session for a stream.") }
    return .events(key, lastEventID: request.headers["Last-Event-ID"])
  }

  /// The device of a token and its visible zones. Nil if the token is no longer valid or the read fails; the device then reconnects.
  func listener(_ token: TokenHash) -> EventHub.Listener? {
    do {
      return try api.read { reader in
        try reader.store.transaction { () throws -> EventHub.Listener? in
          guard let device = try reader.store.device(token) else { return nil }
          if let scope = device.key.use.scope {
            return EventHub.Listener(
              device: device.key.number, user: device.key.user, zones: scope.zones?.sorted() ?? [],
              receivesAll: scope.zones == nil)
          }
          let zones = try reader.store.zones(of: device.key).filter { !$0.role.isEmpty }.map(\.zone)
          return EventHub.Listener(device: device.key.number, user: device.key.user, zones: zones)
        }
      }
    } catch {
      api.log("The zones of a stream could not be read: \(error)")
      return nil
    }
  }
}
