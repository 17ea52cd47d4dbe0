import HoldfastConcurrency

/// The number of open connections, in total and per address.
///
/// @unchecked Sendable: the variables are accessed only with `lock` held.
final class ConnectionCount: @unchecked Sendable {
  private let limits: HTTPLimits
  private let lock = Lock()
  private var count = 0
  private var countOfAddress: [[UInt8]: Int] = [:]

  init(limits: HTTPLimits) {
    self.limits = limits
  }

  /// How many there are.
  var current: Int { lock.hold { count } }

  /// Counts a connection; false if a limit is reached.
  func admit(_ peer: SocketAddress) -> Bool {
    let key = peer.key
    let isCounted = !limits.uncountedAddresses.contains { $0.contains(IPAddress(peer)) }
    return lock.hold {
      let own = countOfAddress[key, default: 0]
      if count >= limits.maximumConnections || isCounted && own >= limits.maximumConnectionsPerAddress {
        return false
      }
      count += 1
      countOfAddress[key] = own + 1
      return true
    }
  }

  /// Counts the end of an admitted connection.
  func leave(_ peer: SocketAddress) {
    let key = peer.key
    lock.hold {
      count -= 1
      let own = countOfAddress[key, default: 1] - 1
      countOfAddress[key] = own == 0 ? nil : own
      if count == 0 { lock.broadcast() }
    }
  }

  /// Waits until no connection is left, or until `deadline`.
  func waitUntilEmpty(until deadline: MonotonicTime) {
    lock.hold {
      while count > 0 && MonotonicTime.now < deadline { lock.wait(until: deadline) }
    }
  }

  var isEmpty: Bool { lock.hold { count == 0 } }
}
