internal import CMicroHTTPD
import Glibc

/// What a request is answered with, before it is made into bytes.
enum Answer: Sendable {
  case response(HTTPResponse)
  case make(@Sendable () -> HTTPResponse)
  /// An answer of this layer itself.
  case failure(Int)
  /// A stream whose bytes libmicrohttpd sends itself.
  case stream(status: Int, headers: [(name: String, value: String)])
  /// The answer was a stream, and has ended: the connection is to be closed.
  case endOfStream
}

/// The meeting of the HTTP thread, which has a request to answer, and of whoever has the answer.
///
/// @unchecked Sendable: `state` and `onEnd` are touched only under `lock`. `handle` is given to libmicrohttpd only while the state
/// is `open`, by the HTTP thread that has the connection in its hands, or while the connection is suspended, when libmicrohttpd keeps
/// it until it is resumed; after that never again. The socket is written to only while the state is `streaming`: then
/// libmicrohttpd has the connection suspended, or the handler is running, and it writes nothing itself.
final class Exchange: @unchecked Sendable {
  private enum State {
    case open
    case waiting
    case answered(Answer)
    case streaming(isSuspended: Bool)
    case sent
  }

  private struct Buffer {
    var bytes: [UInt8] = []
    var isEnded = false
    /// Whether libmicrohttpd has asked in vain, and is to be woken.
    var isSuspended = false
  }

  private let core: ServerCore
  private let lock: Lock
  private let descriptor: Int32
  private let handle: OpaquePointer
  /// Used only while the state says that the request is not answered: so long the connection is there.
  private unowned let connection: Connection
  private var state = State.open
  /// What waits to be sent of a stream over TLS, which only libmicrohttpd can send; nil for any other answer.
  private var buffer: Buffer?
  private var onEnd: (@Sendable () -> Void)?

  init(_ connection: Connection, handle: OpaquePointer) {
    core = connection.core
    lock = connection.lock
    descriptor = connection.descriptor
    self.connection = connection
    self.handle = handle
  }

  /// Gives the answer and wakes the connection if it waits for it. Any thread; false if there is an answer already.
  @discardableResult
  func answer(_ answer: Answer) -> Bool {
    lock.hold {
      switch state {
      case .open:
        state = .answered(answer)
        return true
      case .waiting:
        state = .answered(answer)
        MHD_resume_connection(handle)
        return true
      case .answered, .streaming, .sent:
        return false
      }
    }
  }

  /// Takes the answer; without one, parks the connection until it comes and returns nil. Only the HTTP thread calls
  /// this. The lock makes it one step: an answer comes either before it, and is taken, or after it, and resumes.
  func takeOrWait(willWait: (ConnectionPhase) -> Void) -> Answer? {
    lock.hold {
      switch state {
      case .answered(let answer):
        state = .sent
        return answer
      case .open where core.isExpired:
        state = .sent
        return .failure(503)
      case .open:
        willWait(.waiting)
        MHD_suspend_connection(handle)
        state = .waiting
        return nil
      case .streaming(isSuspended: false):
        willWait(.streaming)
        MHD_suspend_connection(handle)
        state = .streaming(isSuspended: true)
        return nil
      case .waiting, .streaming:
        return nil
      case .sent:
        return .failure(500)
      }
    }
  }

  // MARK: Streams

  /// Sends the head of a stream; false if there is an answer already, or if the server is stopping. Any thread.
  func beginStream(
    status: Int, headers: [(name: String, value: String)], onEnd: @escaping @Sendable () -> Void
  ) -> Bool {
    lock.hold {
      // Who stops the server ends all streams, under their locks, when it has said so: none begins behind its back.
      if core.isStopping { return false }
      if core.isSecure { return beginBuffer(status, headers, onEnd) }
      switch state {
      case .open: state = .streaming(isSuspended: false)
      case .waiting:
        state = .streaming(isSuspended: true)
        connection.enter(.streaming)
      case .answered, .streaming, .sent: return false
      }
      self.onEnd = onEnd
      prepareSocket()
      write(streamHead(status: status, headers: headers))
      return true
    }
  }

  /// Sends bytes of a stream; see `HTTPStream`.
  func sendStreamed(_ bytes: [UInt8]) -> Bool {
    lock.hold {
      if buffer != nil { return append(bytes) }
      guard case .streaming = state else { return false }
      return write(bytes)
    }
  }

  /// Ends the answer if it is a stream. Any thread.
  func endStream() { lock.hold { endHeldStream() } }

  /// The request is over, however that came about. Only the HTTP thread calls this.
  func end() {
    let onEnd = lock.hold {
      state = .sent
      buffer = nil
      defer { self.onEnd = nil }
      return self.onEnd
    }
    onEnd?()
  }

  private func endHeldStream() {
    if buffer != nil {
      buffer?.isEnded = true
      return wakeReader()
    }
    guard case .streaming(let isSuspended) = state else { return }
    state = .answered(.endOfStream)
    if isSuspended { MHD_resume_connection(handle) }
  }

  // MARK: Streams over TLS

  private func beginBuffer(
    _ status: Int, _ headers: [(name: String, value: String)], _ onEnd: @escaping @Sendable () -> Void
  ) -> Bool {
    let isWaiting: Bool
    switch state {
    case .open: isWaiting = false
    case .waiting: isWaiting = true
    case .answered, .streaming, .sent: return false
    }
    state = .answered(.stream(status: status, headers: headers))
    buffer = Buffer()
    self.onEnd = onEnd
    prepareSocket()
    if isWaiting { MHD_resume_connection(handle) }
    return true
  }

  /// Gives libmicrohttpd what waits to be sent; without any, parks the connection until there is some, and returns 0. Only the HTTP thread
  /// calls this.
  ///
  /// - Returns: how many bytes, or -1 at the end.
  func readStreamed(into room: UnsafeMutableRawBufferPointer) -> Int {
    lock.hold {
      guard let waiting = buffer, !waiting.bytes.isEmpty else {
        if buffer?.isEnded ?? true { return -1 }
        buffer?.isSuspended = true
        MHD_suspend_connection(handle)
        return 0
      }
      let count = min(room.count, waiting.bytes.count)
      room.copyBytes(from: waiting.bytes[..<count])
      buffer?.bytes.removeFirst(count)
      return count
    }
  }

  private func append(_ bytes: [UInt8]) -> Bool {
    guard let waiting = buffer, !waiting.isEnded else { return false }
    if waiting.bytes.count + bytes.count > HTTPStream.bufferSize {
      buffer?.bytes = []
      endHeldStream()
      // It may be waiting for room in the socket.
      shutdown(descriptor, Int32(SHUT_RDWR))
      return false
    }
    buffer?.bytes += bytes
    wakeReader()
    return true
  }

  private func wakeReader() {
    guard buffer?.isSuspended == true else { return }
    buffer?.isSuspended = false
    MHD_resume_connection(handle)
  }

  // MARK: The socket

  /// Writes all of it, or cuts the client, which has not taken what was written before.
  @discardableResult
  private func write(_ bytes: [UInt8]) -> Bool {
    let count = bytes.withUnsafeBytes {
      send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    if count == bytes.count { return true }
    endHeldStream()
    return false
  }

  /// Bounds what the system holds for the client, and how long it waits for one that does not acknowledge.
  private func prepareSocket() {
    // The system takes twice of what is asked for.
    var size = Int32(HTTPStream.bufferSize / 2)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var milliseconds: Int32 = 60_000
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<Int32>.size))
  }
}
