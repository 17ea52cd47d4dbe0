// libsodium's header brings types of signals along, and then counts as the one that has them.
internal import CSodium
import Glibc
import HoldfastService

/// Keeps signals from doing anything by themselves, in this thread and in those that it starts.
func blockSignals(_ signals: [Int32]) {
  var set = set(of: signals)
  pthread_sigmask(SIG_BLOCK, &set, nil)
}

/// Waits for one of some signals, which must be blocked; nil when none has come in time.
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
