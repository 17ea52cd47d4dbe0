// Must be internal: libsodium's header re-exports signal types, and Swift then attributes them to CSodium.
internal import CSodium
import Glibc
import HoldfastService

/// Blocks signals in this thread and in threads that it starts.
func blockSignals(_ signals: [Int32]) {
  var set = set(of: signals)
  pthread_sigmask(SIG_BLOCK, &set, nil)
}

/// Whether one of the signals, which must be blocked, has arrived and waits.
func isPending(_ signals: [Int32]) -> Bool {
  var pending = sigset_t()
  sigpending(&pending)
  return signals.contains { sigismember(&pending, $0) == 1 }
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
