/// A value that one thread at a time uses. `Synchronization.Mutex` does the same, but needs macOS 15 and iOS 18, where tests of an app run the rules
/// of the server too.
///
/// @unchecked Sendable: `value` is touched only while the lock is held.
package final class Locked<Value>: @unchecked Sendable {
  private let lock = Lock()
  private var value: Value

  package init(_ value: sending Value) { self.value = value }

  /// Runs `body` with the value while no other thread has it; not reentrant.
  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try lock.hold { () throws(Failure) -> Result in try body(&value) }
  }
}
