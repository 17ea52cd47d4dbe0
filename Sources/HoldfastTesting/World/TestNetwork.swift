import HoldfastSystem

/// The network between the devices of a test and its server.
///
/// ```swift
/// world.network.isConnected = false
/// world.network.fail(.answerLost)
/// ```
public final class TestNetwork: Sendable {
  /// What becomes of one request.
  public enum Fault: Sendable, Hashable {
    /// It never reaches the server.
    case requestLost
    /// The server does what it says, and the device does not hear of it.
    case answerLost
    /// A proxy answers in the server's place, such as with 503.
    case status(Int)
  }

  /// No answer came.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private struct State {
    var isConnected = true
    var faults: [Fault] = []
  }

  private let state = Locked(State())

  init() {}

  /// Whether requests get through; true at the beginning. `TestDevice.isConnected` cuts off one device.
  public var isConnected: Bool {
    get { state.withLock { $0.isConnected } }
    set { state.withLock { $0.isConnected = newValue } }
  }

  /// Has the next requests fail, whoever sends them, before any others get through.
  ///
  /// - Parameters:
  ///   - fault: what happens to them.
  ///   - count: how many; one unless given.
  public func fail(_ fault: Fault, count: Int = 1) {
    state.withLock { $0.faults += Array(repeating: fault, count: max(0, count)) }
  }

  /// What becomes of the request that is sent now.
  func nextFault() -> Fault? {
    state.withLock { $0.faults.isEmpty ? nil : $0.faults.removeFirst() }
  }
}
