import HoldfastCore

/// The states and transitions of the stream of events: PROTOCOL.md, section 6.5. Pure: an event comes in, actions go out.
struct EventStreamMachine {
  enum State: Equatable {
    case closed, opening, open, waiting
  }

  enum Event: Equatable {
    /// There is a session, and the engine runs.
    case start
    /// Nobody is signed in any more, or the engine ends.
    case stop
    case reachable
    /// The server's first event.
    case hello(heartbeat: Duration, hasMissed: Bool)
    /// Something moved.
    case moved
    /// Something came that says no more than that the server lives.
    case received
    /// The stream has ended, or did not come about.
    case ended(retryAfter: Int?)
    /// Another stream of this device has taken its place: of another process on this database, or of a copy.
    case replaced
    case timer
  }

  enum Action: Equatable {
    case open
    case close
    /// Fire `timer` after so long; replaces the timer before.
    case schedule(Duration)
    case stopTimer
    case tell(SyncMachine.Event)
  }

  /// How long the first event may take.
  static let openLimit = Duration.seconds(30)
  /// So many heartbeats without a byte are too many.
  static let silentHeartbeats = 2
  /// The heartbeats that are believed, whatever the server says.
  static let heartbeats = Duration.milliseconds(50)...Duration.seconds(600)
  /// Before a stream has said in what time to come back, in milliseconds; and the longest wait.
  static let retry = (usual: 2000, longest: 300_000)

  private(set) var state = State.closed
  /// What the server said last of the time in which to come back, in milliseconds.
  var retryMilliseconds: Int?
  private var silence = EventStreamMachine.openLimit
  private var failures = 0
  /// Whether the server itself has said when to come back.
  private var isPutOff = false
  private let random: @Sendable () -> UInt64

  init(random: @escaping @Sendable () -> UInt64) { self.random = random }

  mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    case (.waiting, .reachable) where isPutOff: return []
    case (.closed, .start), (.waiting, .reachable), (.waiting, .timer): return begin()
    case (.closed, _): return []
    case (_, .stop):
      let wasOpen = state == .open
      state = .closed
      failures = 0
      return [.stopTimer, .close] + (wasOpen ? [.tell(.unattended)] : [])
    // Of an older session: the new one has a token of its own.
    case (_, .start): return [.close] + begin()
    case (.waiting, _): return []
    case (.opening, .hello(let heartbeat, let hasMissed)):
      Trace.took(hasMissed ? .streamOpened : .streamResumed)
      state = .open
      let believed = min(max(heartbeat, Self.heartbeats.lowerBound), Self.heartbeats.upperBound)
      silence = believed * Self.silentHeartbeats
      return [.schedule(silence), .tell(.attended(hasMissed: hasMissed))]
    // The time for the first event is not drawn out by other bytes.
    case (.opening, .moved), (.opening, .received), (_, .reachable): return []
    case (.open, .hello): return [.schedule(silence)]
    case (.open, .moved):
      Trace.took(.streamMoved)
      return [.schedule(silence), .tell(.pushed)]
    case (.open, .received):
      // Not before: two copies of a device, of which each ends the other's stream, shall not do so without end.
      failures = 0
      return [.schedule(silence)]
    case (.opening, .timer), (.open, .timer):
      Trace.took(.streamSilent)
      return [.close] + lose(retryAfter: nil)
    case (.opening, .replaced), (.open, .replaced):
      Trace.took(.streamReplaced)
      failures = 16
      return [.close] + lose(retryAfter: Self.retry.longest / 2000)
    case (.opening, .ended(let retryAfter)), (.open, .ended(let retryAfter)):
      Trace.took(.streamEnded)
      return lose(retryAfter: retryAfter)
    }
  }

  private mutating func begin() -> [Action] {
    state = .opening
    silence = Self.openLimit
    return [.open, .schedule(silence)]
  }

  private mutating func lose(retryAfter: Int?) -> [Action] {
    let wasOpen = state == .open
    state = .waiting
    isPutOff = retryAfter != nil
    let first = max(retryMilliseconds ?? Self.retry.usual, 1000)
    let bound = min(Self.retry.longest, min(first, Self.retry.longest) << min(failures, 16))
    failures += 1
    // Full jitter, so that many devices that lost their streams together do not come back in the same second.
    let wait = Duration.milliseconds(Int64(random() % UInt64(bound + 1)))
    return [.schedule(max(wait, .seconds(max(0, retryAfter ?? 0))))] + (wasOpen ? [.tell(.unattended)] : [])
  }
}
