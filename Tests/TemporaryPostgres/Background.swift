import Foundation
import Synchronization

/// A closure on a thread of its own. A task would not do: its thread may be one that a test blocks.
public final class Background<Value: Sendable>: Sendable {
  private let result = Mutex<Result<Value, any Error>?>(nil)
  private let end = DispatchSemaphore(value: 0)

  /// Starts `body`.
  public init(_ body: @escaping @Sendable () throws -> Value) {
    Thread.detachNewThread { [self] in
      let outcome = Result { try body() }
      result.withLock { $0 = outcome }
      end.signal()
    }
  }

  /// Waits for the end of `body`, and gives what it returned; once.
  public func wait() throws -> Value {
    end.wait()
    guard let outcome = result.withLock({ $0 }) else { throw CancellationError() }
    return try outcome.get()
  }
}
