import Glibc

/// Every open connection, by its descriptor, with the limits of their number.
///
/// A connection enters before libmicrohttpd gets its socket and leaves before libmicrohttpd closes it, so a
/// descriptor found here under the lock is open, and is this connection's.
///
/// @unchecked Sendable: the variables are touched only under `lock`.
final class ConnectionTable: @unchecked Sendable {
  private let limits: HTTPLimits
  private let lock = Lock()
  private var connections: [Int32: Connection] = [:]
  private var countOfAddress: [[UInt8]: Int] = [:]

  init(limits: HTTPLimits) {
    self.limits = limits
  }

  /// Enters a connection, unless a limit is reached.
  func admit(_ connection: Connection) -> Bool {
    lock.hold {
      // libmicrohttpd dropped the former owner of this descriptor without a word: out of memory.
      removeHeld(connection.descriptor)
      let count = countOfAddress[connection.addressKey, default: 0]
      if connections.count >= limits.maximumConnections || count >= limits.maximumConnectionsPerAddress {
        return false
      }
      connections[connection.descriptor] = connection
      countOfAddress[connection.addressKey] = count + 1
      return true
    }
  }

  func connection(of descriptor: Int32) -> Connection? {
    lock.hold { connections[descriptor] }
  }

  func remove(_ descriptor: Int32) {
    lock.hold {
      removeHeld(descriptor)
      if connections.isEmpty { lock.signal() }
    }
  }

  private func removeHeld(_ descriptor: Int32) {
    guard let connection = connections.removeValue(forKey: descriptor) else { return }
    let count = countOfAddress[connection.addressKey, default: 1] - 1
    countOfAddress[connection.addressKey] = count == 0 ? nil : count
  }

  /// Cuts the connections whose phase has lasted too long or whose client is gone, and all that are idle or streams if `evenIdle`.
  func sweep(evenIdle: Bool) {
    let now = MonotonicTime.now
    var late: [Connection] = []
    var streams: [Connection] = []
    lock.hold {
      for connection in connections.values {
        let isAbandoned = connection.isAbandoned()
        guard
          let phase = connection.cut(at: now, evenIdle: evenIdle || isAbandoned, evenReading: isAbandoned)
        else { continue }
        if phase == .reading && !isAbandoned {
          late.append(connection)
        } else if phase == .streaming {
          streams.append(connection)
        } else {
          shutdown(connection.descriptor, Int32(SHUT_RDWR))
        }
      }
    }
    for connection in streams { connection.endStream() }
    // The answer is the owner's to make: without the lock. Whoever is gone by then needs none.
    for connection in late {
      let answer = rawBytes(of: connection.core.failure(408), method: nil)
      lock.hold {
        guard connections[connection.descriptor] === connection else { return }
        if !connection.core.isSecure { sendWithoutWaiting(answer, to: connection.descriptor) }
        shutdown(connection.descriptor, Int32(SHUT_RDWR))
      }
    }
  }

  /// Ends all answers that are streams.
  func endStreams() {
    for connection in lock.hold({ Array(connections.values) }) { connection.endStream() }
  }

  /// Answers what the application still owes an answer, with 503.
  func expire() {
    for connection in lock.hold({ Array(connections.values) }) { connection.expire() }
  }

  /// Whether a handler is running on an HTTP thread.
  var isHandling: Bool {
    lock.hold { connections.values.contains { $0.phase == .handling } }
  }

  /// Waits until no connection is left, at most until `deadline`; whether none is left.
  func waitUntilEmpty(until deadline: MonotonicTime) -> Bool {
    lock.hold {
      while !connections.isEmpty && MonotonicTime.now < deadline { lock.wait(until: deadline) }
      return connections.isEmpty
    }
  }
}
