/// A value with a mutex.
///
/// `Synchronization.Mutex` does the same, but needs macOS 15 and iOS 18; the client and the tests of apps run on older systems.
///
/// ```swift
/// let counts = Locked<[Int]>([])
/// counts.withLock { $0.append(1) }
/// ```
/// @unchecked Sendable: `value` is accessed only while `lock` is held.
package final class Locked<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = SystemLock()

  package init(_ value: sending Value) { self.value = value }

  /// Runs `body` while no other thread accesses the value; not reentrant.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
