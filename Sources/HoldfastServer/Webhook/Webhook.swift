import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The thread that tells a team's program which zones moved; docs/PUSH.md.
///
/// What was told is written in the database after the program's answer: each zone is told at least once, in the order of its seqs, whatever dies.
/// Of several servers on one database the one that leads does it.
///
/// @unchecked Sendable: `plan` and `isLeading` are touched under the lock alone; `given` is set once by its owner, before the thread starts, and read by the thread.
final class Webhook: @unchecked Sendable {
  /// What it takes from the rest of the server.
  struct Surroundings: Sendable {
    /// Zones of which the program was not told all: those named, or any, so many at the most.
    let unnotified: @Sendable (_ zones: [String]?, _ limit: Int) throws -> [UnnotifiedZone]
    /// Writes what was told; false when that failed.
    let write: @Sendable ([NotifiedZone]) -> Bool
    let environment: ServerEnvironment
    let log: @Sendable (String) -> Void
  }

  private let configuration: WebhookConfiguration
  private var given: Surroundings?
  private let thread = BackgroundThread()
  private var lock: Lock { thread.lock }
  private var plan = WebhookPlan()
  private var isLeading = false

  init(_ configuration: WebhookConfiguration) { self.configuration = configuration }

  /// Starts the thread; once, before `lead`.
  func start(_ surroundings: Surroundings) throws(ServerError) {
    given = surroundings
    try thread.start { [unowned self] in run(surroundings) }
  }

  /// Zones have moved. Any thread; returns at once.
  func moved(_ changes: ZoneChanges) {
    if changes.zones.isEmpty { return }
    lock.hold {
      guard isLeading else { return }
      plan.add(changes.zones.keys)
      lock.broadcast()
    }
  }

  /// This server leads from now on, or does no longer; or something may have been missed.
  func lead(_ leads: Bool) {
    lock.hold {
      isLeading = leads
      plan.scanAgain()
      lock.broadcast()
    }
  }

  /// Ends the thread, after the call that is made now; once.
  func stop() { thread.stop() }

  private var surroundings: Surroundings {
    guard let given else { preconditionFailure("The webhook was not started.") }
    return given
  }

  private enum Work { case scan, tell([String]) }

  private func run(_ surroundings: Surroundings) {
    while let work = nextWork() {
      do {
        switch work {
        case .scan: try scan()
        case .tell(let zones): try tell(zones)
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
      if !zones.isEmpty { return .work(.tell(zones)) }
      let time = plan.nextTime(now: now)
      if plan.mustScan, let time, time <= now { return .work(.scan) }
      return .nothing(until: time.map { .exact + .milliseconds(max($0 - now, 1)) })
    }
  }

  private func scan() throws {
    let found = try surroundings.unnotified(nil, WebhookPlan.limit / 10)
    lock.hold {
      plan.add(found.map(\.zone))
      if found.count < WebhookPlan.limit / 10 { plan.scanned() }
    }
  }

  private func tell(_ zones: [String]) throws {
    let unnotified = try surroundings.unnotified(zones, zones.count)
    if unnotified.isEmpty { return lock.hold { plan.succeeded(zones) } }
    let now = surroundings.environment.now()
    let id = makeIdentifier(milliseconds: now, random: surroundings.environment.random)
    let body = WebhookText.body(id: id, at: now, unnotified)
    let answer = configuration.post(
      WebhookConfiguration.Delivery(
        body: body,
        headers: [
          ("Content-Type", "application/json"), ("Holdfast-Delivery", id),
          (
            "Holdfast-Signature",
            WebhookText.signature(of: body, at: now, secret: configuration.secret)
          ),
        ]))
    switch answer.status {
    case 200...299:
      let sent = unnotified.map { NotifiedZone(zone: $0.zone, seq: $0.seq) }
      guard surroundings.write(sent) else { return postpone(retryAfter: 1000) }
      lock.hold { plan.succeeded(zones) }
      // What moved during the call was not added, as the zone was waiting.
      let behind = try surroundings.unnotified(zones, zones.count)
      lock.hold { plan.add(behind.map(\.zone)) }
    case 400...499 where answer.status != 408 && answer.status != 429:
      surroundings.log("The webhook refused \(zones.count) zones with \(answer.status)")
      let random = random()
      lock.hold { plan.refused(zones, now: surroundings.environment.measured(), random: random) }
    default:
      surroundings.log("The webhook gave no good answer: \(answer.status)")
      postpone(retryAfter: Int64(min(answer.retryAfter ?? 0, 3600)) * 1000)
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
