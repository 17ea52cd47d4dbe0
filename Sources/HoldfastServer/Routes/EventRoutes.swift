import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// `/v1/events`: docs/PUSH.md.
struct EventRoutes {
  let api: API

  /// `GET /v1/events`, with a token or with a ticket.
  func events(_ request: HTTPRequest) throws -> Step {
    let lastEventID = request.headers["Last-Event-ID"]
    guard let ticket = Self.ticket(of: request) else {
      return .events(try follower(request), lastEventID: lastEventID)
    }
    let hash = TokenHash(of: ticket)
    // A wrong one, of somebody without an account, costs the writer nothing.
    guard try api.read({ try $0.store.hasTicket(hash, at: api.environment.now()) }) else {
      throw Problem(.ticketInvalid)
    }
    return .first(.takeTicket(hash)) { [self] result in
      do {
        guard case .ticket(let token) = try result.get() else { throw Problem(.internalError) }
        return try api.look(LookUp(token, .none), request) {
          .events(try follower(token), lastEventID: lastEventID)
        }
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// `POST /v1/events/tickets`: a ticket in place of the token, as an EventSource of a browser can't send the token.
  func makeTicket(_ request: HTTPRequest) throws -> Step {
    let key = try follower(request)
    let ticket = makeToken(random: api.environment.random)
    return .write(.makeTicket(key, TokenHash(of: ticket))) { result in
      switch result {
      case .success:
        let lifetime = Int64(Accounts.ticketLifetime.components.seconds)
        let answer: JSONValue = ["ticket": .string(ticket), "expires_in": .integer(lifetime)]
        return .json(status: 201, answer.bytes)
      case .failure(let problem): return .problem(problem)
      }
    }
  }

  /// Whether a request for a stream has a ticket in place of a token.
  static func hasTicket(_ request: HTTPRequest) -> Bool { ticket(of: request) != nil }

  private static func ticket(of request: HTTPRequest) -> String? { request.queryValue("ticket") }

  /// The sender of a request, which may open a stream.
  private func follower(_ request: HTTPRequest) throws -> DeviceKey {
    let key = try api.read { try api.sender(of: request, $0).key }
    // A stream outlives a JWT: its expiry can't be checked with each event.
    if case .provider = key.use { throw Problem(.tokenLimited, "Begin a session for a stream.") }
    return key
  }

  /// The device of a token that a ticket stood for.
  private func follower(_ token: TokenHash) throws -> DeviceKey {
    guard let device = try api.read({ try $0.store.device(token) }), api.isGood(device) else {
      throw Problem(.tokenInvalid)
    }
    return device.key
  }

  /// The device of a token and its visible zones. Nil if the token is no longer valid or the read fails; the device then reconnects.
  func listener(_ token: TokenHash) -> EventHub.Listener? {
    do {
      return try api.read { reader in
        try reader.store.transaction { () throws -> EventHub.Listener? in
          guard let device = try reader.store.device(token), api.isGood(device) else { return nil }
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

  /// Those of the tokens that are no longer valid. What can't be read counts as valid: its stream goes on.
  func expired(_ tokens: [TokenHash]) -> Set<TokenHash> {
    var expired: Set<TokenHash> = []
    api.database.together(tokens.map { LookUp($0, .none) }) {
      do {
        for token in tokens {
          let device = try api.read { try $0.store.device(token) }
          if !(device.map(api.isGood) ?? false) { expired.insert(token) }
        }
      } catch { api.log("The sessions of streams could not be read: \(error)") }
    }
    return expired
  }
}
