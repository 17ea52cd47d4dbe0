import Foundation

/// Between two looks at what another process does: to look without a pause takes the processor from it.
private let pause = (microseconds: UInt32(5000), duration: Duration.milliseconds(5))

/// Returns when something is so, however long the machine takes, and blocks the thread until then.
public func blockUntil(_ isSo: () throws -> Bool) rethrows {
  while try !isSo() { usleep(pause.microseconds) }
}

/// Returns when something is so, however long the machine takes.
public func waitUntil(isolation: isolated (any Actor)? = #isolation, _ isSo: () async throws -> Bool)
  async rethrows
{
  while try await !isSo() { try? await Task.sleep(for: pause.duration) }
}
