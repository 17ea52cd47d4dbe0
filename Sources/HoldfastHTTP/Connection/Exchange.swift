import HoldfastConcurrency
import Glibc

/// What a request is answered with, before it is made into bytes.
enum Answer: Sendable {
  case response(HTTPResponse)
  case make(@Sendable () -> HTTPResponse)
  /// An answer of this layer itself.
  case failure(Int)
  /// The content is to be read, up to so many bytes.
  case admitted(maximumBodyBytes: Int, payer: String?)
  /// The content without its coding.
  case decoded([UInt8])
  /// The answer was a stream, and has ended: the connection is to be closed.
  case endOfStream(isWhole: Bool)
}

/// The meeting of the HTTP thread, which has a request to answer, and of whoever has the answer.
///
/// @unchecked Sendable: `state` and `onEnd` are touched only under `lock`. The connection's transport is used only while the state is
/// `streaming`, under the lock: then the HTTP thread leaves it alone.
final class Exchange: @unchecked Sendable {
  private enum State {
    case open
    case waiting
    case answered(Answer)
    /// `isParked`: the HTTP thread waits for the end.
    case streaming(isParked: Bool)
    case sent
  }

  private let lock: Lock
  private let connection: HTTPConnection
  private var state = State.open
  private var onEnd: (@Sendable () -> Void)?

  init(_ connection: HTTPConnection) {
    lock = connection.lock
    self.connection = connection
  }

  /// Gives the answer and wakes the connection if it waits for it. Any thread; false if there is an answer already.
  @discardableResult
  func answer(_ answer: Answer) -> Bool {
    lock.hold {
      switch state {
      case .open: state = .answered(answer)
      case .waiting:
        state = .answered(answer)
        connection.loop.wake(connection)
      case .answered, .streaming, .sent: return false
      }
      return true
    }
  }

  /// Takes the answer; nil when it is still to come: then the connection is woken. Only the HTTP thread calls
  /// this. The lock makes it one step: an answer comes either before it, and is taken, or after it, and wakes.
  func takeOrWait() -> Answer? {
    lock.hold {
      switch state {
      case .answered(let answer):
        state = .sent
        return answer
      case .open where connection.core.isExpired:
        state = .sent
        return .failure(503)
      case .open: state = .waiting
      case .streaming: state = .streaming(isParked: true)
      case .waiting: break
      case .sent: return .failure(500)
      }
      return nil
    }
  }

  // MARK: Streams

  /// Whether the answer is a stream that goes on.
  var isStreaming: Bool { lock.hold { if case .streaming = state { true } else { false } } }

  /// The head of an answer that ends with its connection.
  func streamHead(_ status: Int, _ headers: [(name: String, value: String)]) -> [UInt8] {
    ResponseHead(
      HTTPResponse(status: status, headers: headers), .close, hasEnd: false, date: dateField(of: time(nil)),
      log: connection.core.log
    ).bytes
  }

  /// Sends the head of a stream; false if there is an answer already, or if the server is stopping. Any thread.
  func beginStream(_ head: [UInt8], onEnd: @escaping @Sendable () -> Void) -> Bool {
    lock.hold {
      // Who stops the server ends all streams, under their locks, when it has said so: none begins behind its back.
      if connection.core.isStopping { return false }
      switch state {
      case .open: state = .streaming(isParked: false)
      case .waiting:
        state = .streaming(isParked: true)
        // It may know that the client has gone.
        connection.loop.wake(connection)
      case .answered, .streaming, .sent: return false
      }
      self.onEnd = onEnd
      connection.prepareStream()
      write(head)
      return true
    }
  }

  /// Sends bytes of a stream; see `HTTPStream`.
  func sendStreamed(_ bytes: [UInt8]) -> Bool {
    lock.hold {
      guard case .streaming = state else { return false }
      return write(bytes)
    }
  }

  /// Ends the answer if it is a stream. Any thread.
  func endStream() { lock.hold { endHeldStream(isWhole: true) } }

  /// The request is over, however that came about. Only the HTTP thread calls this.
  func end() {
    let onEnd = lock.hold {
      state = .sent
      defer { self.onEnd = nil }
      return self.onEnd
    }
    onEnd?()
  }

  private func endHeldStream(isWhole: Bool) {
    guard case .streaming(let isParked) = state else { return }
    state = .answered(.endOfStream(isWhole: isWhole))
    if isParked { connection.loop.wake(connection) }
  }

  /// Writes all of it, or ends the stream of a client that has not taken what was written before.
  @discardableResult
  private func write(_ bytes: [UInt8]) -> Bool {
    let isSent = bytes.withUnsafeBytes { bytes in
      var place = 0
      while place < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[place...])
        guard case .bytes(let count) = connection.transport.write(rest) else { return false }
        place += count
      }
      return true
    }
    if !isSent { endHeldStream(isWhole: false) }
    return isSent
  }
}
