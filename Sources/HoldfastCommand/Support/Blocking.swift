import Dispatch

/// Runs asynchronous work from a synchronous command.
func blocking<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) throws -> T {
  let outcome = Outcome<T>()
  let done = DispatchSemaphore(value: 0)
  Task {
    do { outcome.value = .success(try await work()) } catch { outcome.value = .failure(error) }
    done.signal()
  }
  done.wait()
  guard let value = outcome.value else { throw Failure("The work did not end.") }
  return try value.get()
}

// Proof: written once before the semaphore is signalled, read once after.
private final class Outcome<T>: @unchecked Sendable { var value: Result<T, any Error>? }
