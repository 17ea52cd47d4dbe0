import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// `/v1/sync`: PROTOCOL.md, section 3.
struct SyncRoutes {
  let api: API

  /// `POST /v1/sync`: answered immediately if it writes nothing, otherwise after its commit.
  func sync(_ request: HTTPRequest) throws -> Step {
    try api.requireJSON(request)
    let hash = try Authentication(api: api).bearer(of: request).hash
    // The writer checks the device again, so a certain write needs no lookup here.
    if let key = api.keys[hash], case .session = key.use {
      let body = try syncRequest(request)
      let command = try SyncCommand(body, body: request.body, key: key)
      if body.isWriting { return try write(command) }
      if let answer = try recalled(body, key.token) {
        Trace.took(.quietRequest)
        return .answer(.json(answer))
      }
      return try api.look(LookUp(hash, .all(acks: command.acks)), request) { try sync(request) { body } }
    }
    // The device is looked up before the body of an unknown sender is parsed.
    return try sync(request) { try syncRequest(request) }
  }

  /// The answer to a request that says what its device has said before, while nothing has changed for it; nil where it has to be made.
  private func recalled(_ body: SyncRequest, _ token: TokenHash) throws -> [UInt8]? {
    try api.database.recall { memory in
      guard let device = memory.device(token)?.device, api.isGood(device) else { return nil }
      return SyncAnswers.keptAnswer(
        to: body, of: device, clock: api.clock.now(milliseconds: api.environment.now()),
        now: api.clock.trusted.now()
      ) { memory.answer(to: $0, of: device.key.number) }
    }
  }

  /// Parses a request of an app version that is still supported.
  ///
  /// - Throws: `Problem`: parsing problems, or `appTooOld`.
  private func syncRequest(_ request: HTTPRequest) throws(Problem) -> SyncRequest {
    let body = try SyncRequest(body: request.body, operations: api.operations)
    if body.schemaVersion < api.schema.oldestVersion {
      throw Problem(
        .appTooOld,
        "Its schema has version \(body.schemaVersion); the oldest that is served is \(api.schema.oldestVersion)."
      )
    }
    return body
  }

  /// - Parameter body: parses the request's body; called after the device was found.
  private func sync(_ request: HTTPRequest, _ body: () throws -> SyncRequest) throws -> Step {
    let decision = try api.read { reader in
      try reader.store.transaction { () -> Decision in
        let device = try api.device(of: request, reader)
        let body = try body()
        var command = try SyncCommand(body, body: request.body, key: device.key)
        if body.client != device.client { command.newClient = body.client }
        try command.requireAcknowledgements(from: device.acknowledgedRefusals)
        if !body.isWriting {
          let now = api.clock.trusted.now()
          let clock = api.clock.now(milliseconds: api.environment.now())
          let kept = SyncAnswers.keptAnswer(to: body, of: device, clock: clock, now: now) {
            reader.store.answer(to: $0, of: device.key)
          }
          if let kept {
            Trace.took(.quietRequest)
            return .answered(.json(kept))
          }
          let zones = try reader.store.zones(of: device.key)
          if try !reader.mustBeWritten(command, of: device, zones: zones, now: now) {
            Trace.took(.quietRequest)
            if reader.hasParts(zones) { return .read(command) }
            let answer = try reader.answer(body, of: device, zones: zones, clock: clock, now: now)
            reader.keep(answer, to: body, of: device, clock: clock, now: now)
            return .answered(.json(answer))
          }
        }
        return .write(command)
      }
    }
    switch decision {
    case .answered(let response): return .answer(response)
    case .read(let command): return .answer(try answer(command, SyncOutcome()))
    case .write(let command): return try write(command)
    }
  }

  /// The decision on a request whose device was looked up.
  private enum Decision {
    case answered(HTTPResponse)
    /// The request writes nothing; answer it with the changes.
    case read(SyncCommand)
    case write(SyncCommand)
  }

  private func write(_ command: SyncCommand) throws -> Step {
    let sets = command.request.changeSets.lazy.compactMap { try? $0.content.get() }
    try api.countNames(in: sets.joined(), by: command.key)
    return DirectoryRoutes(api: api).knowing(api.names(in: sets.joined())) { [self] unreachable in
      var command = command
      command.unreachable = unreachable
      return apply(command)
    }
  }

  private func apply(_ command: SyncCommand) -> Step {
    .write(.sync(command)) { [self] result in
      do {
        switch result {
        case .success(.synced(let outcome)): return try answer(command, outcome)
        case .success: return try answer(command, SyncOutcome())
        case .failure(let problem): return .problem(problem)
        }
      } catch { return .problem(api.problem(of: error)) }
    }
  }

  /// The answer to a request whose writes are committed. It reads one snapshot, so it contains a change set over several zones whole or not
  /// at all.
  private func answer(_ command: SyncCommand, _ outcome: SyncOutcome) throws -> HTTPResponse {
    try api.read { reader in
      try reader.store.moment(of: LookUp(answering: command, outcome)) {
        guard let device = try reader.store.device(command.key.token) else {
          return .problem(Problem(.tokenInvalid))
        }
        // A copy of the device may have acknowledged the refusals meanwhile; they are then purged, and can't be answered.
        try command.requireAcknowledgements(from: device.acknowledgedRefusals)
        let zones = try reader.store.zones(of: device.key)
        return .json(
          try reader.answer(
            command.request, of: device, zones: zones,
            clock: api.clock.now(milliseconds: api.environment.now()),
            now: api.clock.trusted.now(), outcome: outcome))
      }
    }
  }
}
