import HoldfastConcurrency
internal import CSockets
import Glibc

/// One client connection and the request that is being read from it or answered.
///
/// @unchecked Sendable: what is `let` is constant or synchronized itself; `transport` is used by the thread of the loop, or under `lock` while the
/// answer is a stream; all else is touched only by the thread of the loop.
final class HTTPConnection: @unchecked Sendable {
  /// What the connection waits for.
  enum State {
    /// For TLS to be agreed on.
    case handshake
    /// For a request: none of it is here, or a part of its head.
    case head
    /// For the word of the owner whether the content is to be read.
    case admission
    /// For the rest of a content.
    case body
    /// For a content without its coding, which another thread makes.
    case decoding
    /// For the owner's answer.
    case handling
    /// For the client to take an answer.
    case writing
    /// For the end of an answer that is a stream.
    case streaming
    /// For the client to end, after an answer behind which nothing is read.
    case lingering
    case closed
  }

  let descriptor: Int32
  let peer: SocketAddress
  let remoteAddress: String
  let core: ServerCore
  let loop: EventLoop
  let transport: SocketTransport
  let lock = Lock()

  var state: State
  /// When the state must be over.
  var deadline: MonotonicTime?
  /// Whether the socket may have bytes, and may take some: nobody has found the contrary since the system said so.
  var canRead = true
  var canWrite = true
  /// Whether the client has ended its side, or the system has given the connection up.
  var isAbandoned = false

  /// What was read and not looked at yet; while a head is being read, all of that head.
  var input: [UInt8] = []
  var reader = HeadReader()
  /// The request that is being read or answered.
  var head: RequestHead?
  var chunks: ChunkReader?
  var body: [UInt8] = []
  var bodyLimit = 0
  /// What it has of the room for contents, and who answers for it; nil for the peer's address.
  var room: ByteRoom.Share?
  var payer: String?
  var exchange: Exchange?
  /// The coding that the client wants its answer in.
  var accepted: ContentCoding?
  /// The entity tags of coded forms that the client has.
  var codedTags: [String] = []

  var output: Output?
  /// Who has to answer for what waits of the answer; none for the peer.
  var payers: [String] = []
  /// What it has of the room for answers.
  var share: ByteRoom.Share?
  /// Whether the connection ends with the answer that is being written.
  var isLast = false
  /// Whether nothing more is read of what the client sends.
  var isRefused = false
  /// How many bytes were thrown away.
  var discarded = 0

  /// - Parameter descriptor: a socket that was admitted: it is closed, and makes room for others, with this connection.
  init?(_ descriptor: Int32, _ peer: SocketAddress, _ core: ServerCore, _ loop: EventLoop) {
    let certificate = core.certificate
    guard let transport = SocketTransport(descriptor, certificate) else { return nil }
    self.descriptor = descriptor
    self.peer = peer
    remoteAddress = peer.text
    self.core = core
    self.loop = loop
    self.transport = transport
    state = certificate == nil ? .head : .handshake
    deadline = .now + core.requestDeadline
  }

  /// Does all that can be done now. Whoever sends many requests at once takes turns with others.
  func run() {
    for _ in 0..<16 {
      let goesOn =
        switch state {
        case .handshake: shakeHands()
        case .head: readHead()
        case .body: readBody()
        case .writing: writeOut()
        case .lingering: discard()
        case .admission, .decoding, .handling, .streaming, .closed: false
        }
      if !goesOn { return }
    }
    loop.runLater(self)
  }

  /// The system says that something has changed.
  func notice(_ events: UInt32) {
    let ends = EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
    if events & (EPOLLIN.rawValue | ends) != 0 { canRead = true }
    if events & (EPOLLOUT.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { canWrite = true }
    if events & ends != 0 { isAbandoned = true }
    // A stream is written past the loop, and what comes from its client is not read.
    if isAbandoned { exchange?.endStream() }
    run()
  }

  /// There is an answer.
  func wake() {
    switch state {
    case .admission, .decoding, .handling, .streaming:
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

  /// Reads what has come; nil when that is nothing, or too much was read for one turn.
  func receive() -> UnsafeRawBufferPointer? {
    guard canRead else { return nil }
    let buffer = loop.scratch
    switch transport.read(buffer) {
    case .bytes(let count):
      // A socket that gives less than was asked for has no more, but perhaps the end.
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

  /// The time for what the connection waits for is over.
  func expire() {
    switch state {
    // No word to whom has not yet begun.
    case .head where reader.hasBegun, .body:
      refuse(Refusal(status: 408))
      run()
    case .admission, .decoding, .handling, .streaming, .closed: break
    case .handshake, .head, .writing, .lingering: close()
    }
  }

  /// The server stops: what has not begun is closed, streams end.
  func stop() {
    switch state {
    case .handshake: close()
    case .head where !reader.hasBegun: close()
    // Another thread may have begun one that the loop has not heard of yet.
    case .streaming, .handling: exchange?.endStream()
    case .head, .admission, .body, .decoding, .writing, .lingering, .closed: break
    }
  }

  /// Closes the connection, whatever it waits for.
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

  /// Purges the request that was answered.
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

  /// Bounds what the system holds for the client of a stream, and how long it waits for one that does not acknowledge.
  func prepareStream() {
    // The system takes twice of what is asked for.
    var size = Int32(HTTPStream.bufferSize / 2)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    var milliseconds: Int32 = 60_000
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, socklen_t(MemoryLayout<Int32>.size))
  }
}
