/// The thread that cuts connections whose time is over: libmicrohttpd itself closes only those that are silent, not
/// those that send a byte a second.
///
/// @unchecked Sendable: `isStopped` is touched only under `lock`.
final class Sweeper: @unchecked Sendable {
  private let lock = Lock()
  private var isStopped = false

  /// Starts the thread; nil if there is none to be had.
  func start(_ core: ServerCore) -> Thread? {
    Thread { [self] in
      while wait(core.limits.sweepInterval) { core.connections.sweep(evenIdle: core.isStopping) }
    }
  }

  /// Ends the thread soon.
  func stop() {
    lock.hold {
      isStopped = true
      lock.signal()
    }
  }

  /// Whether to go on.
  private func wait(_ time: Duration) -> Bool {
    let deadline = MonotonicTime.now + time
    return lock.hold {
      while !isStopped && MonotonicTime.now < deadline { lock.wait(until: deadline) }
      return !isStopped
    }
  }
}
