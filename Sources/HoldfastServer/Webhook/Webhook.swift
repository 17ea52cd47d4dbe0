import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The thread that notifies a team's program of changed zones; docs/PUSH.md.
///
/// A delivery is recorded in the database after the program's answer. So each zone is delivered at least once, in the order of its seqs,
/// across crashes. Of several servers on one database, only the leader calls the program.
///
/// @unchecked Sendable: `plan`, `traces` and `isLeading` are accessed only with the lock held. `given` is set once, before the thread starts.
final class Webhook: @unchecked Sendable {
  /// The dependencies on the rest of the server.
  struct Surroundings: Sendable {
    /// The first zones with undelivered changes behind a place.
    let unnotified: @Sendable (_ place: String, _ limit: Int) throws -> [String]
    /// The named zones.
    let zones: @Sendable (_ names: [String]) throws -> [UnnotifiedZone]
    /// Devices with push tokens.
    let devices: @Sendable (PushAudience, _ after: Int64, _ limit: Int) throws -> [PushTarget]
    /// Records deliveries and dead push tokens; false if that fails.
    let write: @Sendable ([NotifiedZone], _ gone: [String]) -> Bool
    let environment: ServerEnvironment
    let log: @Sendable (String) -> Void
  }

  private let configuration: WebhookConfiguration
  private var given: Surroundings?
  private let thread = BackgroundThread()
  private var lock: Lock { thread.lock }
  private var plan = WebhookPlan()
  private var traces = ZoneTraces()
  private var isLeading = false

  init(_ configuration: WebhookConfiguration) { self.configuration = configuration }

  /// Starts the thread. Call it once, before `lead`.
  func start(_ surroundings: Surroundings) throws(ServerError) {
    given = surroundings
    try thread.start { [unowned self] in run(surroundings) }
  }

  /// Receives zone changes. Callable from any thread; does not block.
  ///
  /// - Parameter commit: the traces of the writes that made them; nil for changes by other servers and programs.
  func moved(_ changes: ZoneChanges, in commit: CommitTraces? = nil) {
    if changes.zones.isEmpty { return }
    lock.hold {
      guard isLeading else { return }
      plan.add(changes.zones)
      for (zone, device) in changes.zones { traces.note(commit?.trace(ofDevice: device), of: zone) }
      lock.broadcast()
    }
  }

  /// Sets whether this server leads. Also rescans the database, because changes may have been missed.
  func lead(_ leads: Bool) {
    lock.hold {
      isLeading = leads
      plan.scanAgain()
      lock.broadcast()
    }
  }

  /// Begins no other call.
  func end() { thread.end() }

  /// Stops the thread after the current call. Call it once.
  func stop() { thread.stop() }

  private var surroundings: Surroundings {
    guard let given else { preconditionFailure("The webhook was not started.") }
    return given
  }

  private enum Work { case scan(after: String), tell([String], authors: TextMap<Int64>) }

  private func run(_ surroundings: Surroundings) {
    while let work = nextWork() {
      do {
        switch work {
        case .scan(let place): try scan(after: place)
        case .tell(let zones, let authors): try tell(zones, authors)
        }
      } catch {
        surroundings.log("The webhook could not be served: \(error)")
        postpone(retryAfter: 1000)
      }
    }
  }

  private func nextWork() -> Work? {
    thread.next {
      guard isLeading else { return .nothing(until: nil) }
      let now = surroundings.environment.measured()
      let zones = plan.next(configuration.batch, now: now)
      if !zones.isEmpty { return .work(.tell(zones, authors: plan.begin(zones))) }
      if let place = plan.scanPlace(now: now) { return .work(.scan(after: place)) }
      let time = plan.nextTime(now: now)
      return .nothing(until: time.map { .exact + .milliseconds(max($0 - now, 1)) })
    }
  }

  private func scan(after place: String) throws {
    let found = try surroundings.unnotified(place, WebhookPlan.scanSize)
    lock.hold { plan.scanned(found) }
  }

  private func tell(_ zones: [String], _ authors: TextMap<Int64>) throws {
    let unnotified = try surroundings.zones(zones)
    if unnotified.isEmpty { return lock.hold { plan.succeeded(zones) } }
    var devices = WebhookDevices(
      unnotified, authors: authors, limit: configuration.deviceBatch, find: surroundings.devices)
    let trace = lock.hold { traces.common(to: unnotified.map(\.zone)) }
    var gone: [String] = []
    var batch = try devices.next()
    repeat {
      let answer = post(unnotified, batch, trace)
      guard (200...299).contains(answer.status) else { return failed(zones, answer) }
      gone += WebhookText.gone(answer.body)
      batch = try devices.next()
    } while !batch.isEmpty
    let sent = unnotified.map { NotifiedZone(zone: $0.zone, seq: $0.seq) }
    guard surroundings.write(sent, gone) else { return postpone(retryAfter: 1000) }
    lock.hold {
      plan.succeeded(zones)
      traces.notified(zones, in: trace)
    }
  }

  private func post(
    _ zones: [UnnotifiedZone], _ devices: [PushTarget], _ trace: TraceContext?
  ) -> WebhookConfiguration.Answer {
    let now = surroundings.environment.now()
    let id = makeIdentifier(milliseconds: now, random: surroundings.environment.random)
    let body = WebhookText.body(id: id, at: now, zones, devices)
    return configuration.post(
      WebhookConfiguration.Delivery(
        body: body,
        headers: [
          ("Content-Type", "application/json"), ("Holdfast-Delivery", id),
          (
            "Holdfast-Signature",
            WebhookText.signature(of: body, at: now, secret: configuration.secret)
          ),
        ] + (trace.map { [$0.field(span: surroundings.environment.random(8))] } ?? [])))
  }

  private func failed(_ zones: [String], _ answer: WebhookConfiguration.Answer) {
    switch answer.status {
    case 400...499 where answer.status != 408 && answer.status != 429:
      surroundings.log("The webhook refused \(zones.count) zones with \(answer.status)")
      let random = random()
      lock.hold { plan.refused(zones, now: surroundings.environment.measured(), random: random) }
    default:
      surroundings.log("The webhook gave no good answer: \(answer.status)")
      postpone(retryAfter: Int64(answer.retryAfter ?? 0) * 1000)
    }
  }

  private func postpone(retryAfter: Int64) {
    let (now, random) = (surroundings.environment.measured(), random())
    lock.hold { plan.postponed(now: now, retryAfter: retryAfter, random: random) }
  }

  private func random() -> UInt64 {
    surroundings.environment.random(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
