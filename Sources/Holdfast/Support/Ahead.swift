import Dispatch
import HoldfastSystem

/// A result that is being made on another thread while its user does something else.
///
/// Who asks before the other thread has begun makes it himself: nothing ever waits for a thread to be free.
final class Ahead<Value: Sendable>: Sendable {
  private let result = Locked<Result<Value, any Error>?>(nil)
  private let make: @Sendable () throws -> Value

  /// Begins to make a result.
  ///
  /// - Parameter make: runs once, on whichever thread; what it gives must not depend on which or when.
  init(_ make: @escaping @Sendable () throws -> Value) {
    self.make = make
    DispatchQueue.global(qos: .userInitiated).async { _ = self.made() }
  }

  /// The result, as soon as it is there; throws what `make` threw.
  func value() throws -> Value { try made().get() }

  private func made() -> Result<Value, any Error> {
    result.withLock { result in
      if let result { return result }
      let made = Result { try make() }
      result = made
      return made
    }
  }
}
