import Foundation
import Holdfast
import HoldfastCore
import Synchronization

/// The real way to a server, which remembers what was sent and lets something happen before a request leaves, or when its answer has come:
/// what throws there is a network that breaks at that moment.
final class BreakingTransport: Transport {
  typealias Moment = @Sendable (TransportRequest) async throws -> Void

  private let transport: HTTPTransport
  private let sent = Mutex<[TransportRequest]>([])
  private let moments = Mutex<(before: Moment?, after: Moment?)>((nil, nil))

  init(_ server: URL) { transport = HTTPTransport(server: server) }

  /// The bodies of the syncs so far.
  var syncs: [JSONValue] {
    sent.withLock { $0 }.filter { $0.path.hasSuffix("v1/sync") }.compactMap {
      $0.body.flatMap { try? JSONValue(parsing: $0) }
    }
  }

  /// Does something once, before the next sync leaves.
  func beforeNext(_ moment: @escaping Moment) { moments.withLock { $0.before = moment } }

  /// Does something once, when the answer to the next sync has come, and before the device knows of it.
  func afterNext(_ moment: @escaping Moment) { moments.withLock { $0.after = moment } }

  /// Loses the answer to the next sync.
  func loseNextAnswer() {
    afterNext { _ in throw StoreError(.offline, "the train is in a tunnel") }
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    guard request.path.hasSuffix("v1/sync") else { return try await transport.send(request) }
    sent.withLock { $0.append(request) }
    let (before, after) = moments.withLock { moments in
      defer { moments = (nil, nil) }
      return moments
    }
    try await before?(request)
    let answer = try await transport.send(request)
    try await after?(request)
    return answer
  }
}
