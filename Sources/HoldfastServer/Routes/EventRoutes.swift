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
      let key = try follower(request)
      // The ticket may be in a query that can't be read.
      _ = try QueryParameters(request)
      return .events(key, lastEventID: lastEventID)
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

  private static func ticket(of request: HTTPRequest) -> String? {
    (try? QueryParameters(request))?["ticket"]
  }

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

  /// What the hub asks for.
  var source: EventHub.Source { EventHub.Source(listener: listener, zones: zones, expired: expired) }

  /// The device of a token. Nil if the token is no longer valid or the read fails; the device then reconnects.
  private func listener(_ token: TokenHash) -> EventHub.Listener? {
    reading { store in
      try store.transaction { () throws -> EventHub.Listener? in
        guard let device = try store.devices([token]).first, api.isGood(device) else { return nil }
        let (number, user) = (device.key.number, device.key.user)
        if let scope = device.key.use.scope {
          return EventHub.Listener(
            device: number, user: user, zones: scope.zones?.sorted() ?? [], isMember: false,
            receivesAll: scope.zones == nil)
        }
        let open = api.schema.publicZones
        return EventHub.Listener(
          device: number, user: user, zones: open.isEmpty ? [] : try store.followed(by: number, among: open))
      }
    }
  }

  private func zones(of user: String) -> [String]? { reading { try $0.memberships(of: user) } }

  /// Those of the tokens that are no longer valid. What can't be read counts as valid: its stream goes on.
  private func expired(_ tokens: [TokenHash]) -> Set<TokenHash> {
    let good = reading { try $0.devices(tokens).filter(api.isGood).map(\.key.token) }
    return good.map { Set(tokens).subtracting($0) } ?? []
  }

  private func reading<Result>(_ body: (any StoreReader) throws -> Result?) -> Result? {
    do { return try api.read { try body($0.store) } } catch {
      api.log("What a stream needs could not be read: \(error)")
      return nil
    }
  }
}
