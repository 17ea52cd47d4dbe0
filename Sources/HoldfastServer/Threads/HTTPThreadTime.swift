import HoldfastSystem

/// The time of the HTTP threads that clients use for reads. A client with many costly reads uses up its allowance. Its reads then take turns
/// on other threads, and do not delay other clients' requests.
///
/// After the allowance, a client may use `1 / price` of the time of one thread. Requests below `least` cost nothing.
final class HTTPThreadTime: Sendable {
  private static let allowance = Duration.milliseconds(60)
  private static let price = 10
  private static let least = Duration.milliseconds(1)
  /// The maximum cost of a request, so that a thread that stood still locks nobody out.
  private static let most = Duration.seconds(1)
  /// The number of clients from which those without a debt are removed.
  private static let pruned = 256

  /// The moments at which the debts of clients are paid.
  private let paid = Locked<[Client: ContinuousClock.Instant]>([:])
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter now: the current time.
  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.now = now }

  /// The number of clients with a debt, or that had one lately.
  var count: Int { paid.withLock { $0.count } }

  /// Whether a client may use an HTTP thread now.
  func isLeft(for client: Client) -> Bool {
    paid.withLock { paid in
      guard !paid.isEmpty, let moment = paid[client] else { return true }
      return now().duration(to: moment) < Self.allowance * Self.price
    }
  }

  /// Runs a client's work on this thread, and charges the client for the time.
  func run<Value>(for client: Client, _ work: () -> Value) -> Value {
    let start = now()
    defer { charge(client, start.duration(to: now())) }
    return work()
  }

  /// Charges a client for a request that took some time.
  func charge(_ client: Client, _ time: Duration) {
    if time < Self.least { return }
    let now = now()
    paid.withLock { paid in
      if paid.count >= Self.pruned { paid = paid.filter { $0.value > now } }
      paid[client] = max(paid[client] ?? now, now) + min(time, Self.most) * Self.price
    }
  }
}
