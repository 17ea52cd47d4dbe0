import Glibc
import Synchronization

/// One client connection and the request that is being read from it.
///
/// @unchecked Sendable: what is `let` is constant or synchronized itself; `exchange` is touched only under `lock`,
/// `lastSwept` only under the table's; the other variables are touched only in libmicrohttpd's callbacks, which run one after the other on the one
/// thread that serves this connection.
final class Connection: @unchecked Sendable {
  /// What the next call of the access handler is about.
  enum Stage {
    case header
    case body
    case answer
    case refused
  }

  /// Open as long as the connection is in the table.
  let descriptor: Int32
  let remoteAddress: String
  let addressKey: [UInt8]
  let core: ServerCore
  let lock = Lock()
  /// What it presents over TLS, kept as long as GnuTLS may use it; nil without TLS.
  let certificate: TLSCertificate?
  private let timedPhase: Atomic<UInt64>
  private var exchange: Exchange?
  private var lastSwept: TimedPhase?

  var stage = Stage.header
  var target = ""
  var headers = HTTPHeaders()
  var body: [UInt8] = []
  /// The coding that the client wants its answer in.
  var accepted: ContentCoding?
  /// The entity tags of coded forms that the client has.
  var codedTags: [String] = []
  var discarded = 0
  /// What the request is answered with when its content was thrown away; 0 when that was said already.
  var refusal = 0
  /// How much of the room for contents this connection has.
  var room = 0

  init(descriptor: Int32, address: SocketAddress, core: ServerCore) {
    self.descriptor = descriptor
    remoteAddress = address.text
    addressKey = address.key
    certificate = core.certificate
    self.core = core
    timedPhase = Atomic(TimedPhase(.idle, until: .now + core.requestDeadline).word)
  }

  /// Forgets the request before, and waits for the next.
  func reset() {
    stage = .header
    target = ""
    headers = HTTPHeaders()
    body = []
    accepted = nil
    codedTags = []
    discarded = 0
    refusal = 0
    giveRoom()
    expected?.end()
    expect(nil)
    enter(.idle, for: core.isStopping ? Milliseconds(.zero) : core.idleTimeout)
  }

  /// Gives back the room for the content of a request.
  func giveRoom() {
    if room > 0 { core.giveRoom(room) }
    room = 0
  }

  /// Names the exchange that stop() must answer when the time of grace is over.
  func expect(_ exchange: Exchange?) {
    lock.hold { self.exchange = exchange }
  }

  /// The exchange of the request that is being answered.
  var expected: Exchange? { lock.hold { exchange } }

  /// Ends the answer if it is a stream.
  func endStream() { expected?.endStream() }

  /// Answers 503 if the application still owes the answer.
  func expire() { expected?.answer(.failure(503)) }

  var phase: ConnectionPhase { TimedPhase(word: timedPhase.load(ordering: .acquiring)).phase }

  /// Enters `phase`, for at most `time`; false if the sweeper has cut the connection before.
  @discardableResult
  func enter(_ phase: ConnectionPhase, for time: Milliseconds? = nil) -> Bool {
    let new = TimedPhase(phase, until: time.map { .now + $0 })
    let old = TimedPhase(word: timedPhase.exchange(new.word, ordering: .acquiringAndReleasing))
    if old.phase != .cut { return true }
    timedPhase.store(old.word, ordering: .releasing)
    return false
  }

  /// Whether the client has ended its side, nothing more of it is unread, and nothing has happened since the sweep
  /// before. libmicrohttpd does not see an end that comes together with the last bytes. Only the sweeper calls this.
  func isAbandoned() -> Bool {
    let current = TimedPhase(word: timedPhase.load(ordering: .acquiring))
    defer { lastSwept = current }
    var byte: UInt8 = 0
    switch current.phase {
    case .idle, .reading:
      return current == lastSwept && recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    case .streaming:
      // Nobody else looks: libmicrohttpd does not while the connection is suspended.
      let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
      return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    default: return false
    }
  }

  /// Marks the connection as cut if its phase has lasted too long, or if it is idle, a stream or being read and the owner
  /// says so; the phase that it was in, or nil.
  func cut(at now: MonotonicTime, evenIdle: Bool, evenReading: Bool) -> ConnectionPhase? {
    let word = timedPhase.load(ordering: .acquiring)
    let current = TimedPhase(word: word)
    let isOver =
      switch current.phase {
      case .cut: false
      case .idle where evenIdle, .streaming where evenIdle, .reading where evenReading: true
      default: current.isOver(at: now)
      }
    guard isOver else { return nil }
    let cut = TimedPhase(.cut).word
    return timedPhase.compareExchange(expected: word, desired: cut, ordering: .acquiringAndReleasing)
      .exchanged
      ? current.phase : nil
  }
}
