package import HoldfastConcurrency

/// Starts a thread that runs `body` and must be joined.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(ServerError) -> SystemThread {
  guard let thread = SystemThread(body) else {
    throw ServerError(.unreachable, "The system has no thread left.")
  }
  return thread
}
