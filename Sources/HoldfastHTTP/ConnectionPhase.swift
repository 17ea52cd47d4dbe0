import Synchronization

/// Where a connection stands, for the sweeper and for the stop of the server.
enum ConnectionPhase: UInt64 {
  /// Between requests, or before the first.
  case idle
  /// The request line is here; header fields or content are still coming.
  case reading
  /// The handler, or the closure that makes the answer, is running on the HTTP thread.
  case handling
  /// The handler has returned without an answer: the connection waits outside the HTTP threads.
  case waiting
  /// The answer is on its way out.
  case writing
  /// The request was refused: the answer is out, what still comes in is thrown away.
  case refusing
  /// The sweeper has cut the connection.
  case cut
  /// The answer is a stream. Bytes are written past libmicrohttpd, which keeps the connection outside the HTTP threads.
  case streaming
}

/// A phase and the time at which it must be over, in one word, so that the HTTP thread and the sweeper agree.
struct TimedPhase: Equatable {
  private(set) var word: UInt64

  init(_ phase: ConnectionPhase, until deadline: MonotonicTime? = nil) {
    word = (deadline?.milliseconds ?? UInt64.max >> 3) << 3 | phase.rawValue
  }

  init(word: UInt64) {
    self.word = word
  }

  var phase: ConnectionPhase { ConnectionPhase(rawValue: word & 7) ?? .cut }

  func isOver(at now: MonotonicTime) -> Bool { word >> 3 < now.milliseconds }
}
