import HoldfastConcurrency

/// A door that one thread waits at until another opens it.
final class Door: @unchecked Sendable {
  private let lock = Lock()
  private var isOpen = false

  func open() {
    lock.hold {
      isOpen = true
      lock.broadcast()
    }
  }

  func wait() { lock.hold { while !isOpen { lock.wait() } } }
}
