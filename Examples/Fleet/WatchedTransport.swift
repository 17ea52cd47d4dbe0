import Foundation
import Holdfast
import Synchronization

/// The real way to the server, which counts what a device sees of it.
final class WatchedTransport: EventTransport {
  /// What was seen.
  struct Traffic {
    var requests = 0
    /// Requests that got no answer, or one of the server's failures.
    var failures = 0
    var streams = 0
    /// The first failure in words.
    var first: String?
  }

  private let transport: HTTPTransport
  private let traffic = Mutex(Traffic())
  private let borrowed = Mutex<String?>(nil)
  private let isOffline: @Sendable () -> Bool

  /// - Parameter isOffline: whether the device has no network now.
  init(server: URL, isOffline: @escaping @Sendable () -> Bool = { false }) {
    transport = HTTPTransport(server: server)
    self.isOffline = isOffline
  }

  /// What was seen since `clear`.
  var seen: Traffic { traffic.withLock { $0 } }

  /// Signs in with the token of another device of the same person, as a copy of it does: so the servers need not hash the
  /// password again for each of so many devices.
  func borrow(_ token: String) { borrowed.withLock { $0 = token } }

  func clear() { traffic.withLock { $0 = Traffic() } }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    var request = request
    if request.path == "v1/sessions", let token = borrowed.withLock({ $0 }) {
      request = TransportRequest(
        method: "POST", path: "v1/devices", token: token, body: Array("{\"name\": \"one more\"}".utf8))
    }
    traffic.withLock { $0.requests += 1 }
    do {
      if isOffline() { throw URLError(.notConnectedToInternet) }
      let answer = try await transport.send(request)
      if answer.status >= 500 { note("\(request.path): \(answer.status)") }
      return answer
    } catch {
      note("\(request.path): \((error as? URLError)?.localizedDescription ?? "\(error)")")
      throw error
    }
  }

  func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error> {
    traffic.withLock { $0.streams += 1 }
    let bytes = transport.events(token: token, lastEventID: lastEventID)
    return AsyncThrowingStream { continuation in
      let task = Task { [self] in
        do {
          for try await piece in bytes { continuation.yield(piece) }
          continuation.finish()
        } catch {
          // That a stream ends is no failure, that there is none is.
          if let refusal = error as? EventStreamRefusal { note("v1/events: \(refusal.status)") }
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }

  private func note(_ failure: String) {
    traffic.withLock { traffic in
      traffic.failures += 1
      traffic.first = traffic.first ?? failure
    }
  }
}
