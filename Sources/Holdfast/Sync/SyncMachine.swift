import HoldfastCore

/// The states and transitions of the sync engine: PROTOCOL.md, section 6.2. Pure: an event comes in, actions go out.
package struct SyncMachine {
  enum State: Equatable {
    case signedOut, idle, syncing, waiting
  }

  package enum Failure: Equatable, Sendable {
    /// 5xx, 408, 429 and whatever else may pass. Nothing is dropped.
    case later(reason: String, retryAfter: Int?)
    /// No whole answer came. Nothing is dropped.
    case unreachable(reason: String)
    /// The server says that the session is over.
    case expired
    /// This database is a copy of another device's.
    case diverged
    /// 413, or a body that the server calls malformed.
    ///
    /// - Parameter items: how many change sets, or records that are recovered, the request had.
    case unacceptable(items: Int, isTooLarge: Bool, reason: String)
  }

  package enum Event: Equatable, Sendable {
    case signedIn, signedOut
    case launched, edited, syncNow, reachable, timer
    /// - Parameters:
    ///   - hasLargeZone: whether a zone is to be downloaded as a snapshot.
    ///   - wait: after which something is to be asked again; nil for nothing.
    ///   - items: how many change sets, or records that are recovered, the request had.
    case answered(
      hasMore: Bool, hasLargeZone: Bool = false, wait: Duration? = nil, items: Int = 0,
      progress: AnswerProgress = .much)
    /// A stretch of the snapshot is here: the last, or that of a snapshot which is no longer wanted.
    case downloaded(isLast: Bool)
    case failed(Failure)
    /// A new identity was given to a copy.
    case identified
    /// The stream of events names zones that moved.
    case pushed
    /// There is a stream of events from now on, after one that may have missed something, or not.
    case attended(hasMissed: Bool)
    /// There is none any more.
    case unattended
  }

  enum Action: Equatable {
    /// Make a request of what there is, with at most so many change sets, and send it.
    case send(changeSetLimit: Int)
    /// Ask for the next stretch of the snapshot of the large zone.
    case download
    /// Move the only change set of the last request into quarantine.
    case quarantineOldest
    /// Ask for a new identity.
    case identify
    /// Fire `timer` after so long; replaces the timer before.
    case schedule(Duration)
    case stopTimer
    /// Who waited for a sync by hand is told: it is done, or why it failed.
    case finish(Failure?)
  }

  /// How long after a local edit it is sent, so that edits made together go together.
  static let debounce = Duration.milliseconds(250)
  /// How often the server is asked when nothing happens here.
  static let period = Duration.seconds(60)
  /// How often at the least and at the most while a stream of events is there to tell, at random, so that devices that were told together
  /// do not ask together.
  static let attendedPeriod = (least: 600_000, most: 900_000)
  /// The first and the longest wait after a failure.
  static let backOff = (first: 1000, longest: 300_000)
  /// The longest wait after a failure of the network. It costs the server nothing.
  static let longestOffline = 60_000
  static let changeSetLimit = 500
  /// How many answers in a row that want another request, and bring little, are followed at once.
  static let patience = 20
  /// How many pushes in a row that tell of nothing are followed at once.
  static let pushPatience = 10

  private(set) var state: State
  /// What the timer waits for, where it is not the next look by and by.
  private enum Timer { case none, edit, push }

  private var goOn = false
  /// Whether zones were pushed since the request that is under way was made.
  private var isPushedAgain = false
  private var isAttended = false
  private var timer = Timer.none
  private var failures = 0
  /// How many answers in a row wanted another request, and brought little.
  private var fruitless = 0
  /// Whether the request that is under way follows a push, and how many pushes in a row told of nothing.
  private var isPushed = false
  private var vainPushes = 0
  /// Whether the server itself has said when to come back: that the network is there says nothing about that.
  private var isPutOff = false
  /// Whether a new identity was given since the last answer; a second time means that something is wrong.
  private var isIdentified = false
  private var search = FaultSearch()
  private let random: @Sendable () -> UInt64

  init(isSignedIn: Bool, random: @escaping @Sendable () -> UInt64) {
    state = isSignedIn ? .idle : .signedOut
    self.random = random
  }

  mutating func handle(_ event: Event) -> [Action] {
    let before = state
    let actions = decide(event)
    if let transition = Transition(before, event, state) { Trace.took(transition) }
    return actions
  }

  private mutating func decide(_ event: Event) -> [Action] {
    switch (state, event) {
    case (_, .signedOut):
      state = .signedOut
      return [.stopTimer, .finish(.expired)]
    case (.syncing, .signedIn), (.syncing, .edited), (.syncing, .syncNow), (.syncing, .launched),
      (.syncing, .reachable):
      goOn = true
      return []
    case (_, .signedIn):
      state = .idle
      timer = .none
      return [.schedule(.zero)]
    case (_, .attended(let hasMissed)):
      isAttended = true
      return attend(hasMissed)
    case (_, .unattended):
      isAttended = false
      // At random, as all devices of a server lose their streams together.
      return state == .idle && timer == .none ? [.schedule(wait(upTo: Self.period))] : []
    case (.syncing, .pushed):
      isPushedAgain = true
      return []
    case (.idle, .pushed): return follow()
    case (.waiting, .pushed): return []
    case (.signedOut, .syncNow): return [.finish(.expired)]
    case (.signedOut, _): return []
    case (.idle, .edited):
      // Not put off by the edits that follow: they may never pause.
      if timer == .edit { return [] }
      timer = .edit
      return [.schedule(Self.debounce)]
    case (.waiting, .edited): return []
    case (.waiting, .reachable) where isPutOff: return []
    case (.waiting, .reachable):
      failures = 0
      return begin()
    case (_, .launched), (_, .syncNow), (_, .reachable), (.idle, .timer), (.waiting, .timer): return begin()
    case (.syncing, .answered) where search.isProbing:
      search.probed()
      return [.send(changeSetLimit: search.limit)]
    case (.syncing, .answered(let hasMore, let hasLargeZone, let wait, let items, let progress)):
      isIdentified = false
      search.accepted(items: items)
      return goOn(after: progress, hasMore: hasMore, hasLargeZone: hasLargeZone, wait)
    case (.syncing, .downloaded(let isLast)):
      failures = 0
      // What was edited meanwhile does not wait for the rest of it.
      return isLast || goOn ? begin() : [.download]
    case (.syncing, .identified):
      isIdentified = true
      return begin()
    case (.syncing, .failed(let failure)): return fail(failure)
    case (_, .timer), (_, .answered), (_, .failed), (_, .identified), (_, .downloaded): return []
    }
  }

  private mutating func begin() -> [Action] {
    state = .syncing
    isPushed = timer == .push
    (goOn, isPushedAgain, timer) = (false, false, .none)
    search.restart()
    return [.stopTimer, .send(changeSetLimit: search.limit)]
  }

  /// After an answer. One that wants another request and brings little may come for ever, from a server at fault or in a network that repeats what it
  /// carried once: such are followed for a while, and then as after a failure.
  private mutating func goOn(
    after progress: AnswerProgress, hasMore: Bool, hasLargeZone: Bool, _ wait: Duration?
  ) -> [Action] {
    if progress != .none { vainPushes = 0 } else if isPushed { vainPushes += 1 }
    if progress == .much { (failures, fruitless) = (0, 0) }
    if goOn { return begin() }
    if hasMore || hasLargeZone {
      if progress != .much { fruitless += 1 }
      if fruitless > Self.patience {
        return fail(.later(reason: "The server's answers bring nothing new.", retryAfter: nil))
      }
      return hasLargeZone ? [.download] : begin()
    }
    (failures, fruitless) = (0, 0)
    state = .idle
    if isPushedAgain { return follow(finishing: true) }
    let pause = pause()
    return [.schedule(min(wait ?? pause, pause)), .finish(nil)]
  }

  /// Follows a push: at once, unless the last ones told of nothing.
  ///
  /// - Parameter isFinishing: whether a sync ends before.
  private mutating func follow(finishing isFinishing: Bool = false) -> [Action] {
    let isPutOff = vainPushes >= Self.pushPatience
    if isPutOff, timer != .none { return [] }
    timer = .push
    if !isPutOff { return begin() }
    let longest = min(Self.longestOffline, Self.backOff.first << min(vainPushes - Self.pushPatience, 16))
    return [.schedule(wait(upTo: .milliseconds(longest)))] + (isFinishing ? [.finish(nil)] : [])
  }

  private mutating func attend(_ hasMissed: Bool) -> [Action] {
    switch state {
    case .signedOut: return []
    case .syncing:
      goOn = goOn || hasMissed
      return []
    // The server is there again.
    case .waiting: return begin()
    case .idle: return hasMissed ? begin() : timer != .none ? [] : [.schedule(pause())]
    }
  }

  /// How long nothing is asked when nothing happens.
  private func pause() -> Duration {
    let (least, most) = Self.attendedPeriod
    return isAttended ? .milliseconds(least) + wait(upTo: .milliseconds(most - least)) : Self.period
  }

  /// A random time of a whole number of milliseconds.
  private func wait(upTo longest: Duration) -> Duration {
    .milliseconds(Int64(random() % (UInt64(max(0, longest.wholeMilliseconds)) + 1)))
  }

  private mutating func fail(_ failure: Failure) -> [Action] {
    switch failure {
    case .expired:
      state = .signedOut
      return [.stopTimer, .finish(failure)]
    case .diverged where isIdentified:
      // After the wait it may ask once more: it may have been copied again before it was answered.
      isIdentified = false
      return fail(.later(reason: "The server does not know this device's new identity.", retryAfter: nil))
    case .diverged:
      Trace.took(.engineDiverged)
      return [.identify]
    case .unacceptable(let items, let isTooLarge, let reason):
      switch search.refused(items: items, isTooLarge: isTooLarge, reason: reason) {
      case .send(let limit):
        Trace.took(limit == 0 ? .engineProbed : .engineUnacceptable)
        return [.send(changeSetLimit: limit)]
      case .quarantine:
        Trace.took(.engineUnacceptableAlone)
        return [.quarantineOldest, .send(changeSetLimit: search.limit)]
      case .wait: return fail(.later(reason: reason, retryAfter: nil))
      }
    case .later, .unreachable:
      state = .waiting
      var (longest, retryAfter, isPutOff) = (Self.longestOffline, Int?.none, false)
      if case .later(_, let asked) = failure {
        (longest, retryAfter, isPutOff) = (Self.backOff.longest, asked, asked != nil)
      }
      self.isPutOff = isPutOff
      let bound = min(longest, Self.backOff.first << min(failures, 16))
      failures += 1
      // Full jitter, so that many devices do not come back in the same second.
      let wait = wait(upTo: .milliseconds(bound))
      return [.schedule(max(wait, .seconds(max(0, retryAfter ?? 0)))), .finish(failure)]
    }
  }
}

extension Transition {
  /// The row of the engine's table, PROTOCOL.md, section 6.2; those of failures are told apart where they are dealt with.
  fileprivate init?(_ before: SyncMachine.State, _ event: SyncMachine.Event, _ after: SyncMachine.State) {
    switch (before, event) {
    case (_, .signedOut): self = .engineSignedOut
    case (_, .signedIn): self = .engineSignedIn
    case (.signedOut, _), (_, .unattended), (_, .attended): return nil
    case (.idle, .pushed): self = .engineMoved
    case (.waiting, .pushed): self = .engineMovedWhileWaiting
    case (.syncing, .pushed): self = .engineToldToGoOn
    case (.syncing, .edited), (.syncing, .syncNow), (.syncing, .launched), (.syncing, .reachable):
      self = .engineToldToGoOn
    case (.waiting, .reachable) where after == .waiting: self = .enginePutOff
    case (_, .launched), (_, .syncNow), (_, .reachable): self = .engineAsked
    case (.idle, .edited): self = .engineEdited
    case (.waiting, .edited): self = .engineEditedWhileWaiting
    case (.idle, .timer): self = .engineTimer
    case (.waiting, .timer): self = .engineRetried
    case (.syncing, .answered) where after == .waiting: self = .engineFailed
    case (.syncing, .answered(_, hasLargeZone: true, _, _, _)): self = .engineLarge
    case (.syncing, .answered): self = after == .idle ? .engineRested : .engineWentOn
    case (.syncing, .downloaded): self = .engineDownloaded
    case (.syncing, .failed(.unreachable)): self = .engineUnreachable
    case (.syncing, .failed):
      switch after {
      case .signedOut: self = .engineExpired
      case .waiting: self = .engineFailed
      default: return nil
      }
    default: return nil
    }
  }
}
