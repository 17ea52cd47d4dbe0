import Holdfast
import HoldfastSystem

/// A way to a server that keeps the answers, and gives them to another device again: what a device does by itself is measured so.
final class RecordingTransport: Transport {
  private let way: HTTPTransport
  private let kept = Locked<[TransportAnswer]>([])

  init(_ way: HTTPTransport) { self.way = way }

  var answers: [TransportAnswer] { kept.withLock { $0 } }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    let answer = try await way.send(request)
    kept.withLock { $0.append(answer) }
    return answer
  }
}

/// Gives answers in their order, whatever is asked.
final class ReplayTransport: Transport {
  private let left: Locked<[TransportAnswer]>

  init(_ answers: [TransportAnswer]) { left = Locked(answers.reversed()) }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    guard let answer = left.withLock({ $0.popLast() }) else {
      throw BenchError(text: "a device asks for more than was recorded: \(request.path)")
    }
    return answer
  }
}
