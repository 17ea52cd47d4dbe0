import HoldfastConcurrency
import Glibc

/// The answer to a request, before encoding.
enum Answer: Sendable {
  case response(HTTPResponse)
  case make(@Sendable () -> HTTPResponse)
  /// An answer of the HTTP layer itself.
  case failure(Int)
  /// The grace period of a stopping server has ended without an answer.
  case expired
  /// Read the body, up to a number of bytes.
  case admitted(maximumBodyBytes: Int, payer: String?)
  /// The decoded body.
  case decoded([UInt8])
  /// The compressed answer.
  case coded(HTTPResponse)
  /// The answer was a stream that has ended. The connection must be closed.
  case endOfStream(isWhole: Bool)
}

/// The meeting point of the HTTP thread that handles a request and the thread that answers it.
///
/// @unchecked Sendable: `state` and `onEnd` are accessed only with `lock` held. In the state `streaming` the connection's transport is used
/// only with the lock held, not by the HTTP thread.
final class Exchange: @unchecked Sendable {
  private enum State {
    case open
    case waiting
    case answered(Answer)
    /// `isParked`: the HTTP thread waits for the end of the stream.
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

  /// Sets the answer, and wakes the connection if it waits for it. Callable from any thread; false if there is an answer already.
  @discardableResult
  func answer(_ answer: Answer) -> Bool {
    let isAwaited: Bool? = lock.hold {
      switch state {
      case .open:
        state = .answered(answer)
        return false
      case .waiting:
        state = .answered(answer)
        return true
      case .answered, .streaming, .sent: return nil
      }
    }
    // Without the lock, which the HTTP thread takes as soon as it wakes.
    if isAwaited == true { connection.loop.wake(connection) }
    return isAwaited != nil
  }

  /// Returns the answer. Nil if there is none yet; the connection is then woken by the answer. Called only by the HTTP thread. The lock
  /// makes it atomic: an answer comes either before and is returned, or after and wakes the connection.
  func takeOrWait() -> Answer? {
    lock.hold {
      switch state {
      case .answered(let answer):
        state = .sent
        return answer
      case .open where connection.core.isExpired:
        state = .sent
        return .expired
      case .open: state = .waiting
      case .streaming: state = .streaming(isParked: true)
      case .waiting: break
      case .sent: return .failure(500)
      }
      return nil
    }
  }

  // MARK: Streams

  /// Whether the answer is a stream that continues.
  var isStreaming: Bool { lock.hold { if case .streaming = state { true } else { false } } }

  /// The head of an answer that ends with its connection.
  func streamHead(_ status: Int, _ headers: [(name: String, value: String)]) -> [UInt8] {
    ResponseHead(
      HTTPResponse(status: status, headers: headers), .close, hasEnd: false, date: dateField(of: time(nil)),
      log: connection.core.log
    ).bytes
  }

  /// Sends the head of a stream; false if there is an answer already, or the server is stopping. Callable from any thread.
  func beginStream(_ head: [UInt8], onEnd: @escaping @Sendable () -> Void) -> Bool {
    lock.hold {
      // A stopping server sets this flag, and then ends all streams with their locks held. So no stream can begin after that.
      if connection.core.isStopping { return false }
      switch state {
      case .open: state = .streaming(isParked: false)
      case .waiting:
        state = .streaming(isParked: true)
        // The connection may already know that the client has gone.
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

  /// Ends the answer if it is a stream. Callable from any thread.
  func endStream() { lock.hold { endHeldStream(isWhole: true) } }

  /// Ends the request in any state. Called only by the HTTP thread.
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

  /// Writes all bytes. Ends the stream if the client has not read earlier ones.
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
