#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A mutex with a condition; pthread's own, which the thread sanitizer understands.
///
/// @unchecked Sendable: both pointers are constant, and what they point to is made to be used by many threads.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    precondition(pthread_mutex_init(mutex, nil) == 0)
    #if canImport(Darwin)
      precondition(pthread_cond_init(condition, nil) == 0)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      precondition(pthread_cond_init(condition, &attributes) == 0)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` while no other thread holds the lock; not reentrant.
  package func hold<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Waits to be woken, at most until `deadline`, and sometimes for less; only inside `hold`, which is left while waiting.
  package func wait(until deadline: MonotonicTime) {
    #if canImport(Darwin)
      var span = timespec(milliseconds: deadline.remaining)
      pthread_cond_timedwait_relative_np(condition, mutex, &span)
    #else
      var time = timespec(milliseconds: deadline.milliseconds)
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  /// Waits to be woken, and sometimes for less; only inside `hold`, which is left while waiting.
  package func wait() { pthread_cond_wait(condition, mutex) }

  /// Wakes one that waits.
  package func signal() { pthread_cond_signal(condition) }

  /// Wakes all that wait.
  package func broadcast() { pthread_cond_broadcast(condition) }
}

extension timespec {
  fileprivate init(milliseconds: UInt64) {
    self.init(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
  }
}
