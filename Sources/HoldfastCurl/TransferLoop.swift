import CCurl
import Foundation

/// The thread that drives all transfers of a client.
///
/// @unchecked Sendable: `arriving`, `isStarted` and `isStopping` are touched under `lock`, `running` by the thread alone. `multi` is used by
/// the thread, and by others for `curl_multi_wakeup` alone, under `lock` and never after `isStopping`, so that it outlives each call.
final class TransferLoop: @unchecked Sendable {
  private typealias Entry = (transfer: Transfer, ticket: TransferTicket)

  private let lock = NSLock()
  private let multi: UnsafeMutableRawPointer?
  private var arriving: [Entry] = []
  private var isStarted = false
  private var isStopping = false
  private var running: [UnsafeMutableRawPointer: Entry] = [:]

  /// libcurl wants to be initialized once in a process, before anything else.
  private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  init() { multi = Self.isLibraryReady ? curl_multi_init() : nil }

  /// Begins a transfer; its receiver is told of the end in any case.
  func add(_ transfer: Transfer, _ ticket: TransferTicket) {
    let isTaken = lock.withLock {
      guard let multi, !isStopping, startThread() else { return false }
      arriving.append((transfer, ticket))
      curl_multi_wakeup(multi)
      return true
    }
    if !isTaken { transfer.finish(CURLE_FAILED_INIT) }
  }

  /// Ends a transfer, also one that is not added yet; does nothing when it has ended.
  func cancel(_ ticket: TransferTicket) {
    lock.withLock {
      ticket.isCancelled = true
      if isStarted, !isStopping { curl_multi_wakeup(multi) }
    }
  }

  /// Ends all transfers, and the thread with them; once.
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

  /// What the thread does.
  fileprivate func run() {
    while admit() {
      var count: Int32 = 0
      curl_multi_perform(multi, &count)
      finishDone()
      // As long as libcurl wants, or until somebody wakes it; the number is only the longest that it may be.
      curl_multi_poll(multi, nil, 0, 60_000, nil)
    }
    curl_multi_cleanup(multi)
  }

  /// Takes what arrived and lets go of what was cancelled; false when the client has ended.
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

/// Names a transfer for who may want to cancel it.
///
/// @unchecked Sendable: the loop touches it under its lock alone.
final class TransferTicket: @unchecked Sendable {
  fileprivate var isCancelled = false
}

private func runLoop(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  // Signals are for other threads; TLS may write to a connection that the peer has closed (SIGPIPE).
  var signals = sigset_t()
  sigfillset(&signals)
  pthread_sigmask(SIG_SETMASK, &signals, nil)
  if let context { Unmanaged<TransferLoop>.fromOpaque(context).takeRetainedValue().run() }
  return nil
}
