import Glibc

/// A mutex with a condition; pthread's own, which the thread sanitizer understands.
///
/// @unchecked Sendable: both pointers are constant, and what they point to is made to be used by many threads.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    precondition(pthread_mutex_init(mutex, nil) == 0 && pthread_cond_init(condition, &attributes) == 0)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` while no other thread holds the lock; not reentrant.
  package func hold<Value>(_ body: () throws -> Value) rethrows -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Waits for `signal` or for `deadline`; only inside `hold`, which is left while waiting.
  package func wait(until deadline: MonotonicTime) {
    var time = timespec(
      tv_sec: Int(deadline.milliseconds / 1000), tv_nsec: Int(deadline.milliseconds % 1000) * 1_000_000)
    pthread_cond_timedwait(condition, mutex, &time)
  }

  /// Waits for `signal`; only inside `hold`, which is left while waiting.
  package func wait() { pthread_cond_wait(condition, mutex) }

  /// Wakes all who wait.
  package func signal() {
    pthread_cond_broadcast(condition)
  }
}
