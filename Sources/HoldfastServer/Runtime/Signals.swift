// Must be internal: libsodium's header re-exports signal types, and Swift then attributes them to CSodium.
internal import CSodium
import Glibc
import HoldfastService

/// Blocks signals in this thread and in threads that it starts.
func blockSignals(_ signals: [Int32]) {
  var set = set(of: signals)
  pthread_sigmask(SIG_BLOCK, &set, nil)
}

/// Lets signals end the process while something runs, though they are blocked before and afterwards.
func deliveringSignals<Result>(_ signals: [Int32], _ body: () throws -> Result) rethrows -> Result {
  var set = set(of: signals)
  pthread_sigmask(SIG_UNBLOCK, &set, nil)
  defer { pthread_sigmask(SIG_BLOCK, &set, nil) }
  return try body()
}

/// Waits for one of the signals, which must be blocked; nil on timeout.
func nextSignal(of signals: [Int32], seconds: Int) -> Int32? {
  var set = set(of: signals)
  var time = timespec(tv_sec: seconds, tv_nsec: 0)
  let signal = sigtimedwait(&set, nil, &time)
  return signal > 0 ? signal : nil
}

private func set(of signals: [Int32]) -> sigset_t {
  var set = sigset_t()
  sigemptyset(&set)
  for signal in signals { sigaddset(&set, signal) }
  return set
}
