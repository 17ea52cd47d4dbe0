import HoldfastConcurrency

/// The thread that decodes large contents, one at a time. A few bytes can decode to millions, which would delay the other requests of an
/// HTTP thread.
///
/// @unchecked Sendable: `waiting` and `isStopping` are accessed only with `lock` held, `thread` only by the server's owner.
final class Decoder: @unchecked Sendable {
  /// An encoded content, and the limit of its decoded size.
  struct Job: Sendable {
    let coding: ContentCoding
    let bytes: [UInt8]
    let limit: Int
  }

  /// A content that decodes to at most this size is decoded on the HTTP thread.
  static let inlineBytes = 128 << 10

  /// The maximum number of queued contents.
  private static let queueLimit = 256

  private let lock = Lock()
  private var waiting: [(job: Job, exchange: Exchange)] = []
  private var isStopping = false
  private var thread: SystemThread?

  /// Starts the thread; false if the system can't.
  func start() -> Bool {
    thread = SystemThread { [self] in run() }
    return thread != nil
  }

  /// Enqueues a content. The exchange receives the decoded content, or the status of a refusal. False if the queue is full.
  func enqueue(_ job: Job, _ exchange: Exchange) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= Self.queueLimit { return false }
      waiting.append((job, exchange))
      lock.broadcast()
      return true
    }
  }

  /// Stops the thread. Call it once.
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
