/// A value that one thread at a time uses.
///
/// `Synchronization.Mutex` does the same, but needs macOS 15 and iOS 18.
///
/// @unchecked Sendable: `value` is touched only while `lock` is held.
package final class Guarded<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = SystemLock()

  package init(_ value: Value) { self.value = value }

  /// Runs `body` with the value while no other thread has it; not reentrant.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
