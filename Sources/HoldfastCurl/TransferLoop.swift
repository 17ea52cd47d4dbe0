import CCurl
import Foundation

/// The thread that drives all transfers of a client.
///
/// @unchecked Sendable: `arriving`, `isStarted` and `isStopping` are accessed with `lock` held, `running` only by the thread. `multi` is
/// used by the thread. Other threads only call `curl_multi_wakeup` on it, with `lock` held and never after `isStopping`, so that it
/// outlives each call.
final class TransferLoop: @unchecked Sendable {
  private typealias Entry = (transfer: Transfer, ticket: TransferTicket)

  private let lock = NSLock()
  private let multi: UnsafeMutableRawPointer?
  private var arriving: [Entry] = []
  private var isStarted = false
  private var isStopping = false
  private var running: [UnsafeMutableRawPointer: Entry] = [:]

  /// libcurl must be initialized once per process, before any other call.
  private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init() { multi = Self.isLibraryReady ? curl_multi_init() : nil }

  /// Starts a transfer. Its receiver is notified of the end in any case.
  func add(_ transfer: Transfer, _ ticket: TransferTicket) {
    let isTaken = lock.withLock {
      guard let multi, !isStopping, startThread() else { return false }
      arriving.append((transfer, ticket))
      curl_multi_wakeup(multi)
      return true
    }
    if !isTaken { transfer.finish(CURLE_FAILED_INIT) }
  }

  /// Cancels a transfer, even before it is added. Does nothing after its end.
  func cancel(_ ticket: TransferTicket) {
    lock.withLock {
      ticket.isCancelled = true
      if isStarted, !isStopping { curl_multi_wakeup(multi) }
    }
  }

  /// Cancels all transfers, and ends the thread. Call it once.
  func stop() {
    lock.withLock {
      if isStarted { curl_multi_wakeup(multi) } else if let multi { curl_multi_cleanup(multi) }
      isStopping = true
    }
  }

  private func startThread() -> Bool {
    if isStarted { return true }
    var thread = pthread_t()
    let loop = Unmanaged.passRetained(self)
    isStarted = pthread_create(&thread, nil, runLoop, loop.toOpaque()) == 0
    if isStarted { pthread_detach(thread) } else { loop.release() }
    return isStarted
  }

  /// The main loop of the thread.
  fileprivate func run() {
    while admit() {
      var count: Int32 = 0
      curl_multi_perform(multi, &count)
      finishDone()
      // Returns when libcurl has work, or after a wakeup; the number is only an upper limit.
      curl_multi_poll(multi, nil, 0, 60_000, nil)
    }
    curl_multi_cleanup(multi)
  }

  /// Adds arrived transfers, and removes cancelled ones; false when the client has ended.
  private func admit() -> Bool {
    let (arrived, cancelled, isStopping) = lock.withLock {
      defer { arriving = [] }
      let cancelled = running.values.filter { $0.ticket.isCancelled || self.isStopping }
      return (arriving, cancelled, self.isStopping)
    }
    for entry in cancelled { remove(entry.transfer.handle)?.cancel() }
    for (transfer, ticket) in arrived {
      guard !isStopping, !lock.withLock({ ticket.isCancelled }) else {
        transfer.cancel()
        continue
      }
      running[transfer.handle] = (transfer, ticket)
      guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
        running[transfer.handle] = nil
        transfer.finish(CURLE_FAILED_INIT)
        continue
      }
    }
    return !isStopping
  }

  private func finishDone() {
    var result = CURLE_OK
    while let multi, let handle = holdfast_curl_next_done(multi, &result) { remove(handle)?.finish(result) }
  }

  private func remove(_ handle: UnsafeMutableRawPointer) -> Transfer? {
    curl_multi_remove_handle(multi, handle)
    return running.removeValue(forKey: handle)?.transfer
  }
}

/// Identifies a transfer for its cancellation.
///
/// @unchecked Sendable: accessed only by the loop, with its lock held.
final class TransferTicket: @unchecked Sendable {
  fileprivate var isCancelled = false
}

private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Signals are handled by other threads. TLS may write to a connection that the peer has closed, which raises SIGPIPE.
  var signals = sigset_t()
  sigfillset(&signals)
  pthread_sigmask(SIG_SETMASK, &signals, nil)
  if let context { Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run() }
  return nil
}
