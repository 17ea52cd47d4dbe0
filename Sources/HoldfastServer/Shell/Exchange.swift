import HoldfastCore
import HoldfastHTTP

/// Performs the steps of the API with threads: inline where nothing has to wait, else on the writer's or on the password
/// thread, with the answer made on the connection's HTTP thread.
final class Exchange: Sendable {
  private struct Write: Sendable {
    let command: Command
    let finish: @Sendable (Result<Outcome, Problem>) -> Void
  }

  private struct PasswordCheck: Sendable {
    let work: @Sendable () -> Step
    let finish: @Sendable (Step) -> Void
  }

  /// @unchecked Sendable: only the writer's thread uses the service, and `stop` when that thread has ended.
  private struct WriterOnly: @unchecked Sendable {
    let service: Service
  }

  private let api: API
  private let log: RequestLog
  private let service: WriterOnly
  private let writer: Worker<Write>
  private let passwords: Worker<PasswordCheck>
  /// What the ids of the requests of this run begin with.
  private let run: String

  init(_ database: any ServerDatabase, _ configuration: Configuration, _ log: RequestLog) throws {
    let failed: @Sendable (String) -> Void = { log.event("failure", level: "error", $0) }
    let environment = configuration.environment
    let store = try database.store()
    let clock = ServiceClock(try store.latestClock())
    let service = WriterOnly(
      service: Service(store, database.schema, clock: clock, environment: environment, log: failed))
    self.service = service
    self.log = log
    api = API(database, clock: clock, environment: environment, log: failed)
    run = environment.random(4).map { hexadecimal($0) }.joined()
    writer = try Worker(limit: configuration.writeQueueLimit, batch: .max) { writes in
      let results = service.service.apply(writes.map(\.command))
      for (write, result) in zip(writes, results) {
        write.finish(result ?? .failure(Problem(.busy, retryAfter: 1)))
      }
    }
    passwords = try Worker(limit: configuration.passwordQueueLimit, batch: 1) { checks in
      for check in checks { check.finish(check.work()) }
    }
  }

  /// Answers a request, now or later.
  func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
    let entry = RequestLog.Entry(
      id: "\(run)-\(request.id)", method: request.method, path: request.path, started: monotonicMicroseconds()
    )
    perform(api.handle(request), entry, responder)
  }

  /// From now on `/readyz` says no.
  func announceStop() { api.stop() }

  /// Finishes what waits, ends the threads and closes the database.
  func stop() {
    passwords.stop()
    writer.stop()
    api.readers.close()
    service.service.close()
  }

  private func perform(_ step: Step, _ entry: RequestLog.Entry, _ responder: HTTPResponder) {
    switch step {
    case .answer(let response):
      responder.respond(finished(response, entry))
    case .write(let command, let answer):
      var entry = entry
      entry.device = command.device
      let logged = entry
      let write = Write(command: command) { result in
        responder.respond { [self] in finished(answer(result), logged) }
      }
      if !writer.enqueue(write) { refuse(entry, responder) }
    case .password(let work):
      let check = PasswordCheck(work: work) { [self] in perform($0, entry, responder) }
      if !passwords.enqueue(check) { refuse(entry, responder) }
    }
  }

  private func refuse(_ entry: RequestLog.Entry, _ responder: HTTPResponder) {
    responder.respond(finished(.problem(Problem(.busy, retryAfter: 1)), entry))
  }

  private func finished(_ response: HTTPResponse, _ entry: RequestLog.Entry) -> HTTPResponse {
    var response = response
    response.headers.append(("X-Request-ID", entry.id))
    log.request(entry, response)
    return response
  }
}

extension Command {
  /// The number of the device that gave the command, where it has one.
  fileprivate var device: Int64? {
    switch self {
    case .sync(let command): command.key.number
    case .copyDevice(let key, _, _), .signOut(let key): key.number
    case .signUp, .signIn, .probe: nil
    }
  }
}
