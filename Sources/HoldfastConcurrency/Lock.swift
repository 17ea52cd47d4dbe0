#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A mutex with a condition variable. It uses pthread's, which the thread sanitizer understands.
///
/// @unchecked Sendable: both pointers are constant, and their targets are designed for concurrent use. `waking` is accessed only with the lock held.
package final class Lock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  /// How many threads to wake when the lock is released: a thread that wakes while the lock is held would only wait for it.
  private var waking = 0

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

  /// Runs `body` with the lock held; not reentrant.
  package func hold<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    pthread_mutex_lock(mutex)
    defer {
      let count = takeWaking()
      pthread_mutex_unlock(mutex)
      wake(count)
    }
    return try body()
  }

  /// Waits for a signal, at most until `deadline`; spurious wakeups are possible. Only inside `hold`, which is released while waiting.
  package func wait(until deadline: MonotonicTime) {
    wake(takeWaking())
    #if canImport(Darwin)
      var span = timespec(milliseconds: deadline.remaining)
      pthread_cond_timedwait_relative_np(condition, mutex, &span)
    #else
      var time = timespec(milliseconds: deadline.milliseconds)
      pthread_cond_timedwait(condition, mutex, &time)
    #endif
  }

  /// Waits for a signal; spurious wakeups are possible. Only inside `hold`, which is released while waiting.
  package func wait() {
    wake(takeWaking())
    pthread_cond_wait(condition, mutex)
  }

  /// Wakes one waiting thread, when the lock is released. Only inside `hold`.
  package func signal() { waking += 1 }

  /// Wakes all waiting threads, when the lock is released. Only inside `hold`.
  package func broadcast() { waking = .max / 2 }

  private func takeWaking() -> Int {
    defer { waking = 0 }
    return waking
  }

  private func wake(_ count: Int) {
    switch count {
    case 0: break
    case 1: pthread_cond_signal(condition)
    default: pthread_cond_broadcast(condition)
    }
  }
}

extension timespec {
  fileprivate init(milliseconds: UInt64) {
    self.init(tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000)
  }
}
