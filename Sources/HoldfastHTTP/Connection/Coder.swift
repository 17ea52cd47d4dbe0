import HoldfastConcurrency

/// The threads that decode large contents of requests and compress large answers, which would delay the other requests of an HTTP thread.
/// Clients take turns: a client has a quarter of the queue, and at most half of the threads.
///
/// @unchecked Sendable: `waiting` and `isStopping` are accessed only with `lock` held, `threads` only by the server's owner.
final class Coder: @unchecked Sendable {
  typealias Work = @Sendable () -> Void

  /// A content that decodes to at most this size is decoded on the HTTP thread.
  static let inlineBytes = 128 << 10
  /// An answer up to this size is compressed on the HTTP thread.
  static let inlineAnswerBytes = 64 << 10
  /// The maximum number of waiting contents and answers.
  static let queueLimit = 256

  private let lock = Lock()
  private var waiting: FairQueue<[UInt8], Work>
  private var isStopping = false
  private let count: Int
  private var threads: [SystemThread] = []

  /// - Parameter count: the number of threads.
  init(threads count: Int) {
    self.count = count
    waiting = FairQueue(share: .init(waiting: Self.queueLimit / 4, running: max(count / 2, 1)))
  }

  /// Starts the threads; false if the system can't.
  func start() -> Bool {
    threads = (0..<count).compactMap { _ in SystemThread { [self] in run() } }
    return threads.count == count
  }

  /// The number of waiting contents and answers.
  var waitingCount: Int { lock.hold { waiting.count } }

  /// Adds work of a payer; false if the queue or the payer's share of it is full.
  func enqueue(_ work: @escaping Work, of payer: String) -> Bool {
    lock.hold {
      if isStopping || waiting.count >= Self.queueLimit || !waiting.append(work, of: Array(payer.utf8)) {
        return false
      }
      lock.signal()
      return true
    }
  }

  /// Stops the threads without the waiting work. Call it once.
  func stop() {
    // Released without the lock, as its release may end a connection.
    let left = lock.hold {
      isStopping = true
      lock.broadcast()
      return waiting.removeAll()
    }
    for thread in threads { thread.join() }
    threads = []
    withExtendedLifetime(left) {}
  }

  private func run() {
    while let (payer, work) = next() {
      work()
      lock.hold {
        waiting.finish(payer)
        if waiting.isReady { lock.signal() }
      }
    }
  }

  private func next() -> (client: [UInt8], job: Work)? {
    lock.hold {
      while !waiting.isReady, !isStopping { lock.wait() }
      return isStopping ? nil : waiting.take(1).first
    }
  }
}
