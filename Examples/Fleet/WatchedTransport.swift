import Foundation
import Holdfast
import Synchronization

/// The real way to the server, which counts what a device sees of it.
final class WatchedTransport: EventTransport {
  /// What was seen.
  struct Sight {
    var requests = 0
    /// Requests that got no answer, or one of the server's failures.
    var failures = 0
    var streams = 0
    /// The first failure in words.
    var first: String?
  }

  private let transport: URLSessionTransport
  private let sight = Mutex(Sight())

  init(server: URL) { transport = URLSessionTransport(server: server) }

  /// What was seen since `forget`.
  var seen: Sight { sight.withLock { $0 } }

  func forget() { sight.withLock { $0 = Sight() } }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    sight.withLock { $0.requests += 1 }
    do {
      let answer = try await transport.send(request)
      if answer.status >= 500 { note("\(request.path): \(answer.status)") }
      return answer
    } catch {
      note("\(request.path): \((error as? URLError)?.localizedDescription ?? "\(error)")")
      throw error
    }
  }

  func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error> {
    sight.withLock { $0.streams += 1 }
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
    sight.withLock { sight in
      sight.failures += 1
      sight.first = sight.first ?? failure
    }
  }
}
