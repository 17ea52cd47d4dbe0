import HoldfastCore
import HoldfastHTTP

extension API {
  /// `POST /v1/sync`: answered at once when it says nothing new, else after its commit.
  func sync(_ request: HTTPRequest) throws -> Step {
    try requireJSON(request)
    return try read { reader in
      try reader.store.transaction {
        let device = try device(of: request, reader)
        let body = try SyncRequest(body: request.body, operations: operations)
        let command = try SyncCommand(body, body: request.body, key: device.key)
        try command.requireAnswers(from: device.answered)
        let now = environment.now()
        if body.changeSets.isEmpty {
          let zones = try reader.store.zones(of: device.key)
          if try !reader.isNews(command, of: device, zones: zones, now: now) {
            Trace.took(.quietRequest)
            return .answer(
              .json(try reader.answer(body, of: device, zones: zones, clock: clock.now(milliseconds: now))))
          }
        }
        return .write(.sync(command)) { [self] result in
          switch result {
          case .success: return answer(body, key: device.key)
          case .failure(let problem): return .problem(problem)
          }
        }
      }
    }
  }

  /// The answer of a request that was committed, from a read transaction that begins now.
  private func answer(_ request: SyncRequest, key: DeviceKey) -> HTTPResponse {
    do {
      return try read { reader in
        try reader.store.transaction {
          guard let device = try reader.store.device(key.token) else {
            return .problem(Problem(.tokenInvalid))
          }
          let zones = try reader.store.zones(of: device.key)
          return .json(
            try reader.answer(
              request, of: device, zones: zones, clock: clock.now(milliseconds: environment.now())))
        }
      }
    } catch { return .problem(problem(of: error)) }
  }
}
