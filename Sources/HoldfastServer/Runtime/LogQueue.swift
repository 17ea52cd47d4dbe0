import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A queue of log lines for a file descriptor. One thread writes them, so that a pipe without a reader blocks no request. It writes those of
/// some milliseconds at once, because to be woken for each line would cost a request more than the line. When the queue is full, lines are
/// dropped and counted.
///
/// @unchecked Sendable: mutable state is accessed only with the lock held.
final class LogQueue: @unchecked Sendable {
  /// The queue of standard error.
  static let standardError = LogQueue(descriptor: 2, now: ServerEnvironment.system.now)
  /// The maximum size of the queue in bytes.
  static let limit = 1 << 20
  /// How long a line waits for others.
  private static let pause = Duration.milliseconds(5)

  private let descriptor: Int32
  private let now: @Sendable () -> Int64
  private let lock = Lock()
  private var waiting: [UInt8] = []
  private var dropped: Int64 = 0
  private var droppedSinceStart: Int64 = 0
  private var isWriting = false
  /// Whether the thread waits for a line.
  private var isIdle = false
  private var isFlushing = false
  private var hasThread = false

  init(descriptor: Int32, now: @escaping @Sendable () -> Int64) {
    (self.descriptor, self.now) = (descriptor, now)
  }

  /// How many lines were dropped since the start.
  var droppedLines: Int64 { lock.hold { droppedSinceStart } }

  /// Enqueues a line, without its line break. Never waits for the descriptor.
  func write(_ line: String) {
    lock.hold {
      guard waiting.count + line.utf8.count < Self.limit else {
        dropped += 1
        return droppedSinceStart += 1
      }
      noteDropped()
      append(line)
      if !hasThread { hasThread = SystemThread { self.run() } != nil }
      if isIdle { lock.broadcast() }
    }
  }

  /// Waits until all lines are written, or until `duration` has passed.
  func flush(within duration: Duration) {
    let deadline = MonotonicTime.exact + duration
    lock.hold {
      noteDropped()
      isFlushing = true
      defer { isFlushing = false }
      lock.broadcast()
      while !waiting.isEmpty || isWriting, hasThread, .exact < deadline { lock.wait(until: deadline) }
    }
  }

  private func append(_ line: String) {
    waiting += line.utf8
    waiting.append(UInt8(ascii: "\n"))
  }

  private func noteDropped() {
    if dropped == 0 { return }
    var writer = RequestLog.beginLine("log", level: .warning, at: now())
    writer.key("message")
    writer.string("\(dropped) lines were dropped, as nobody read the log.")
    writer.endObject()
    append(writer.withBytes { String(decoding: $0, as: UTF8.self) })
    dropped = 0
  }

  private func run() {
    while true {
      let lines = lock.hold { () -> [UInt8] in
        isWriting = false
        lock.broadcast()
        isIdle = true
        while waiting.isEmpty { lock.wait() }
        isIdle = false
        let deadline = MonotonicTime.exact + Self.pause
        while !isFlushing, .exact < deadline { lock.wait(until: deadline) }
        isWriting = true
        defer { waiting = [] }
        return waiting
      }
      lines.withUnsafeBytes { write($0) }
    }
  }

  /// Writes bytes. On an error the rest is discarded.
  private func write(_ bytes: UnsafeRawBufferPointer) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        Glibc.poll(&poll, 1, -1)
      } else if errno != EINTR {
        return
      }
    }
  }
}
