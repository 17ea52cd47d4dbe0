import HoldfastSystem

/// A value that is created at its first use and kept.
package final class Lazy<Value: Sendable>: Sendable {
  private let made = Locked<Value?>(nil)
  private let make: @Sendable () -> Value

  package init(_ make: @escaping @Sendable () -> Value) { self.make = make }

  /// The value. Concurrent callers wait while it is created.
  package var value: Value {
    made.withLock { made in
      let value = made ?? make()
      made = value
      return value
    }
  }
}
