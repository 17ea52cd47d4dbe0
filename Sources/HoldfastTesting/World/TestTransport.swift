import Holdfast
import HoldfastSystem

/// A device's way to the server of a test.
final class TestTransport: Transport {
  private let network: TestNetwork
  private let server: TestServer
  private let connection = Locked(true)

  init(_ network: TestNetwork, _ server: TestServer) { (self.network, self.server) = (network, server) }

  var isConnected: Bool {
    get { connection.withLock { $0 } }
    set { connection.withLock { $0 = newValue } }
  }

  /// Whether a request would reach the server, but for faults of its own.
  var isOpen: Bool { isConnected && network.isConnected && server.isRunning }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    guard isConnected, network.isConnected else {
      throw TestNetwork.Failure(description: "The test's network is cut.")
    }
    let fault = network.nextFault()
    switch fault {
    case .requestLost: throw TestNetwork.Failure(description: "The request was lost.")
    case .status(let status): return TransportAnswer(status: status, body: [])
    case .answerLost, nil: break
    }
    let answer = try server.answer(
      ServerRequest(
        method: request.method, target: request.path, token: request.token, body: request.body ?? []))
    if fault == .answerLost { throw TestNetwork.Failure(description: "The answer was lost.") }
    return TransportAnswer(status: answer.status, retryAfter: answer.retryAfter, body: answer.body)
  }
}
