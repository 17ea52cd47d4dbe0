import HoldfastConcurrency
internal import CSockets
import Glibc

/// A client connection, with the request that is being read or answered.
///
/// @unchecked Sendable: `let` members are constant or synchronized. `transport` is used by the loop's thread, or with `lock` held while the
/// answer is a stream. Everything else is accessed only by the loop's thread.
final class HTTPConnection: @unchecked Sendable {
  /// The event that the connection waits for.
  enum State {
    /// The end of the TLS handshake.
    case handshake
    /// A request: nothing, or a part of its head, has arrived.
    case head
    /// The owner's decision whether to read the body.
    case admission
    /// The rest of a body.
    case body
    /// The decoding of a body by another thread.
    case decoding
    /// The compression of an answer by another thread.
    case coding
    /// The owner's answer.
    case handling
    /// The client to receive an answer.
    case writing
    /// The end of an answer that is a stream.
    case streaming
    /// The client to close its side, after an answer that ends the connection.
    case lingering
    case closed
  }

  let descriptor: Int32
  let peer: SocketAddress
  let remoteAddress: String
  /// The network that the connection's memory counts for, if its owner names nobody.
  let network: String
  let core: ServerCore
  let loop: EventLoop
  let transport: SocketTransport
  let lock = Lock()

  var state: State
  /// The time limit of the state.
  var deadline: MonotonicTime?
  /// Whether the socket may be readable or writable: true from the system's notice until an attempt blocks.
  var canRead = true
  var canWrite = true
  /// Whether the client has closed its side, or the system has ended the connection.
  var isAbandoned = false

  /// Bytes that are read but not parsed; during a head, all of its bytes.
  var input: [UInt8] = []
  var reader = HeadReader()
  /// The request that is being read or answered, its number, and the time when its head was complete.
  var head: RequestHead?
  var requestID: UInt64 = 0
  var began = ContinuousClock.now
  var chunks: ChunkReader?
  var body: [UInt8] = []
  var bodyLimit = 0
  /// The deadline of a body of which nothing arrives.
  var bodyDeadline = MonotonicTime(milliseconds: 0)
  /// The reserved memory for the body, and the payer it counts for; nil for the peer's network.
  var room: ByteRoom.Share?
  var payer: String?
  var exchange: Exchange?
  /// The coding that the client prefers for its answer.
  var accepted: ContentCoding?
  /// The entity tags of encoded representations that the client has.
  var codedTags: [String] = []

  var output: Output?
  /// The payers that the unsent answer counts for.
  var payers: [String] = []
  /// The reserved memory for the answer.
  var share: ByteRoom.Share?
  /// Whether the connection ends after the current answer.
  var isLast = false
  /// Whether further bytes of the client are discarded.
  var isRefused = false
  /// The number of discarded bytes.
  var discarded = 0

  /// - Parameter descriptor: the socket of an admitted connection. Closing this connection closes it, and makes room for others.
  init?(_ descriptor: Int32, _ peer: SocketAddress, _ core: ServerCore, _ loop: EventLoop) {
    let certificate = core.certificate
    guard let transport = SocketTransport(descriptor, certificate) else { return nil }
    self.descriptor = descriptor
    self.peer = peer
    remoteAddress = peer.text
    network = IPAddress.network(of: remoteAddress)
    self.core = core
    self.loop = loop
    self.transport = transport
    state = certificate == nil ? .head : .handshake
    deadline = .now + core.requestDeadline
  }

  /// Does everything possible now. A client that pipelines many requests takes turns with others.
  func run() {
    for _ in 0..<16 {
      let goesOn =
        switch state {
        case .handshake: shakeHands()
        case .head: readHead()
        case .body: readBody()
        case .writing: writeOut()
        case .lingering: discard()
        case .admission, .decoding, .coding, .handling, .streaming, .closed: false
        }
      if !goesOn { return }
    }
    loop.runLater(self)
  }

  /// Handles a notice of the system.
  func notice(_ events: UInt32) {
    let ends = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    if events & (EPOLLIN.rawValue | ends) != 0 { canRead = true }
    if events & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { canWrite = true }
    if events & ends != 0 { isAbandoned = true }
    // A stream is written by other threads, and its client's bytes are not read.
    if isAbandoned { exchange?.endStream() }
    run()
  }

  /// Handles the arrival of an answer.
  func wake() {
    switch state {
    case .admission, .decoding, .coding, .handling, .streaming:
      takeAnswer()
      run()
    case .handshake, .head, .body, .writing, .lingering, .closed: break
    }
  }

  private func shakeHands() -> Bool {
    switch transport.shakeHands() {
    case .bytes:
      state = .head
      (canRead, canWrite) = (true, true)
      return true
    case .blocked:
      (canRead, canWrite) = (false, false)
      return false
    case .ended: return close()
    }
  }

  /// Reads available bytes; nil if there are none or the connection has ended.
  func receive() -> UnsafeRawBufferPointer? {
    guard canRead else { return nil }
    let buffer = loop.scratch
    switch transport.read(buffer) {
    case .bytes(let count):
      // A socket that returns less than requested has no more bytes for now, but may be at its end.
      if count < buffer.count, !transport.isSecure, !isAbandoned { canRead = false }
      return UnsafeRawBufferPointer(rebasing: buffer[..<count])
    case .blocked:
      canRead = false
      return nil
    case .ended:
      close()
      return nil
    }
  }

  /// Handles the end of the time limit.
  func expire() {
    switch state {
    // An idle connection is closed without an answer.
    case .head where reader.hasBegun, .body:
      refuse(Refusal(status: 408))
      run()
    case .admission, .decoding, .coding, .handling, .streaming, .closed: break
    case .handshake, .head, .writing, .lingering: close()
    }
  }

  /// Handles the stop of the server: idle connections close, streams end.
  func stop() {
    switch state {
    case .handshake: close()
    case .head where !reader.hasBegun: close()
    // Another thread may have begun a stream that the loop does not know yet.
    case .streaming, .handling: exchange?.endStream()
    case .head, .admission, .body, .decoding, .coding, .writing, .lingering, .closed: break
    }
  }

  /// Closes the connection in any state.
  @discardableResult
  func close() -> Bool {
    if state == .closed { return false }
    state = .closed
    endRequest()
    loop.remove(self)
    Glibc.close(descriptor)
    core.connections.leave(peer)
    return false
  }

  /// Discards the answered request.
  func endRequest() {
    exchange?.end()
    exchange = nil
    head = nil
    chunks = nil
    body = []
    output = nil
    accepted = nil
    codedTags = []
    share = nil
    room = nil
  }

  /// Limits the socket's buffer for the client of a stream, and the time for unacknowledged bytes.
  func prepareStream() {
    // The system doubles the value.
    var size = Int32(HTTPStream.bufferSize / 2)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var milliseconds: Int32 = 60_000
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<Int32>.size))
  }
}
