#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A mutex with a condition; pthread's own, which the thread sanitizer understands.
///
/// @unchecked Sendable: both pointers are constant, and what they point to is made to be used by many threads.
final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    precondition(pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, nil) == 0)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` while no other thread holds the lock; not reentrant.
  func hold<Value>(_ body: () throws -> Value) rethrows -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Waits for `signal`; only inside `hold`, which is left while waiting.
  func wait() { pthread_cond_wait(condition, mutex) }

  /// Wakes all who wait.
  func signal() { pthread_cond_broadcast(condition) }
}
