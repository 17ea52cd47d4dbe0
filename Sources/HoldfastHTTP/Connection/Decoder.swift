import HoldfastConcurrency

/// The thread that takes codings off large contents, one after the other: a few bytes may be millions, and the HTTP threads have others to serve.
///
/// @unchecked Sendable: `waiting` and `isStopping` are touched only under `lock`, `thread` only by the server's owner.
final class Decoder: @unchecked Sendable {
  /// A content, and what may become of it.
  struct Job: Sendable {
    let coding: ContentCoding
    let bytes: [UInt8]
    let limit: Int
  }

  /// What becomes no larger is decoded at once.
  static let inlineBytes = 128 << 10

  /// How many may wait.
  private static let queueLimit = 256

  private let lock = Lock()
  private var waiting: [(job: Job, exchange: Exchange)] = []
  private var isStopping = false
  private var thread: SystemThread?

  /// Starts the thread; false if there is none to be had.
  func start() -> Bool {
    thread = SystemThread { [self] in run() }
    return thread != nil
  }

  /// Has a content decoded: the exchange gets it, or the status of a refusal. False when too many wait.
  func enqueue(_ job: Job, _ exchange: Exchange) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= Self.queueLimit { return false }
      waiting.append((job, exchange))
      lock.broadcast()
      return true
    }
  }

  /// Ends the thread; once.
  func stop() {
    lock.hold {
      isStopping = true
      waiting = []
      lock.broadcast()
    }
    thread?.join()
    thread = nil
  }

  private func run() {
    while let (job, exchange) = next() {
      do throws(ContentCodingError) {
        exchange.answer(.decoded(try job.coding.decode(job.bytes, limit: job.limit)))
      } catch { exchange.answer(.failure(error == .tooLarge ? 413 : 400)) }
    }
  }

  private func next() -> (Job, Exchange)? {
    lock.hold {
      while waiting.isEmpty, !isStopping { lock.wait() }
      return waiting.isEmpty ? nil : waiting.removeFirst()
    }
  }
}
