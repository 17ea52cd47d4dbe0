#if canImport(Darwin)
  import Darwin
#else
  import Glibc
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
  func hold<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body()
  }

  /// Waits for `signal`, at most until `deadline`, and sometimes for less; only inside `hold`, which is left
  /// while waiting.
  func wait(until deadline: Deadline) {
    #if canImport(Darwin)
      var time = deadline.remaining
      pthread_cond_timedwait_relative_np(condition, mutex, &time)
    #else
      var time = deadline.time
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  /// Wakes one that waits.
  func signal() { pthread_cond_signal(condition) }

  /// Wakes all that wait.
  func signalAll() { pthread_cond_broadcast(condition) }
}
