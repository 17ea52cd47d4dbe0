import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The event streams of this server, and the one thread that sends zone changes and heartbeats on them.
///
/// @unchecked Sendable: members under `// Under the lock` are accessed only with the lock held; those under `// The thread's own` only by
/// the thread.
final class EventStreams: @unchecked Sendable {
  private enum StreamChange: Sendable {
    case opened(Int, HTTPStream, TokenHash, lastEventID: String?)
    case ended(Int)
    case interrupted
  }

  /// How many events are sent in a millisecond, on average: each brings a device that pulls. Until their time is over, further moves are collected.
  private static let eventsInMillisecond = 20
  /// The longest time in which they are.
  private static let longestPause = 100
  /// The number of streams notified at a time, so that a zone with many followers does not make all of them pull at one moment.
  static let batch = 1000
  /// This many unread changes wake the thread even without a stream: the log stores them in less memory.
  private static let changeLimit = 1000

  private let limit: Int
  private let tick: Duration
  private let thread = BackgroundThread()
  private var lock: Lock { thread.lock }

  // Under the lock
  private var events: [StreamChange] = []
  /// The changes since the thread last read its inbox. The thread handles them before `events`.
  private var changes = ZoneChanges()
  private var count = 0
  /// The number of streams of each user.
  private var counts: TextMap<Int> = [:]
  private var lastNumber = 0
  /// Whether changes may be missed. No stream can be opened then, because `hello` promises completeness.
  private var mayMissChanges = false
  /// Whether the thread must wake for its inbox.
  private var isUrgent = false
  /// Changes that arrive before this time do not wake the thread.
  private var holdUntil = MonotonicTime(milliseconds: 0)

  // The thread's own
  private var hub: EventHub
  private var streams: [Int: HTTPStream] = [:]
  private var nextTick = MonotonicTime(milliseconds: 0)
  private var slot = 0

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of streams.
  ///   - heartbeat: the longest silence on a stream.
  /// - Throws: `ServerError.unreachable` if the system can't start a thread.
  init(
    limit: Int, heartbeat: Duration, run: String, _ source: EventHub.Source
  ) throws(ServerError) {
    self.limit = limit
    tick = heartbeat / EventHub.slots
    hub = EventHub(EventText(run: run, heartbeat: heartbeat), source)
    try thread.start { [unowned self] in work() }
  }

  /// The number of open streams. Any thread.
  var openCount: Int { lock.hold { count } }

  /// Answers a request with a stream. Callable from any thread.
  ///
  /// - Parameter most: the maximum number of streams of one user.
  /// - Returns: false if a limit is reached, or changes may be missed. The request is then still unanswered.
  func open(
    _ device: DeviceKey, most: Int, lastEventID: String?, _ fields: [(name: String, value: String)],
    _ responder: HTTPResponder
  ) -> Bool {
    let number: Int? = lock.hold {
      let own = counts[device.user] ?? 0
      if thread.isStopping || mayMissChanges || count >= limit || own >= most { return nil }
      count += 1
      counts[device.user] = own + 1
      lastNumber += 1
      return lastNumber
    }
    guard let number else { return false }
    let headers = [
      ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
    ]
    let stream = responder.stream(headers: headers + fields) { [weak self] in
      self?.ended(number, of: device.user)
    }
    guard let stream else {
      lock.hold { leave(device.user) }
      return false
    }
    lock.hold {
      events.append(.opened(number, stream, device.token, lastEventID: lastEventID))
      wake()
    }
    return true
  }

  /// Receives the changes of a commit, after the commit. Callable from any thread; does not block.
  func moved(_ changes: ZoneChanges) {
    if changes.isEmpty { return }
    lock.hold {
      self.changes.add(changes)
      if count > 0 ? MonotonicTime.exact >= holdUntil : self.changes.zones.count >= Self.changeLimit {
        wake()
      }
    }
  }

  /// Receives the zone changes of other servers. Callable from any thread; does not block.
  ///
  /// If changes may have been missed, all streams end. Their devices reconnect, spread over time, and pull.
  func receive(_ notification: Notification) {
    switch notification {
    case .changes(let changes): moved(changes)
    case .resumed: lock.hold { mayMissChanges = false }
    case .leads: break
    case .interrupted:
      lock.hold {
        mayMissChanges = true
        events.append(.interrupted)
        wake()
      }
    }
  }

  /// Stops the thread. Call it once. The HTTP server closes the streams.
  func stop() { thread.stop() }

  private func ended(_ number: Int, of user: String) {
    lock.hold {
      leave(user)
      events.append(.ended(number))
      wake()
    }
  }

  /// Decrements the stream counts after a stream of a user ended. Requires the lock.
  private func leave(_ user: String) {
    count -= 1
    let own = (counts[user] ?? 1) - 1
    counts[user] = own > 0 ? own : nil
  }

  /// Requires the lock.
  private func wake() {
    isUrgent = true
    lock.broadcast()
  }

  // MARK: The thread

  private func work() {
    while let (changes, events) = nextEvents() {
      finish(hub.moved(changes))
      for piece in events { take(piece) }
      let now = MonotonicTime.exact
      if hub.hasEvents, now >= lock.hold({ holdUntil }) {
        let events = hub.takeEvents(Self.batch)
        send(events)
        let pause = min(events.count / Self.eventsInMillisecond, Self.longestPause)
        lock.hold { holdUntil = .exact + Duration.milliseconds(pause) }
      }
      beat(now)
    }
  }

  /// Waits for work; nil when the thread must stop.
  private func nextEvents() -> (ZoneChanges, [StreamChange])? {
    thread.next {
      let now = MonotonicTime.exact
      let isHeld = holdUntil > now
      if isUrgent || isDue(now) || !isHeld && (hub.hasEvents || count > 0 && !changes.isEmpty) {
        defer { (changes, events, isUrgent) = (ZoneChanges(), [], false) }
        return .work((changes, events))
      }
      return .nothing(until: ((streams.isEmpty ? [] : [nextTick]) + (isHeld ? [holdUntil] : [])).min())
    }
  }

  private func take(_ piece: StreamChange) {
    switch piece {
    case .opened(let number, let stream, let token, let lastEventID):
      let (hello, older) = hub.open(number, token: token, lastEventID: lastEventID)
      if let older = older.flatMap({ streams.removeValue(forKey: $0) }) {
        older.send(EventText.replaced)
        older.finish()
      }
      guard let hello else { return stream.finish() }
      if streams.isEmpty { nextTick = .exact + tick }
      streams[number] = stream
      send([EventHub.Event(stream: number, bytes: hello)])
    case .ended(let number): purge(number)
    case .interrupted:
      for stream in streams.values { stream.finish() }
      streams = [:]
      hub.purge()
    }
  }

  private func send(_ events: [EventHub.Event]) {
    for event in events where streams[event.stream]?.send(event.bytes) == false { purge(event.stream) }
  }

  /// Ends streams that the hub has removed.
  private func finish(_ numbers: [Int]) {
    for number in numbers { streams.removeValue(forKey: number)?.finish() }
  }

  private func purge(_ number: Int) {
    hub.close(number)
    streams[number] = nil
  }

  private func isDue(_ now: MonotonicTime) -> Bool { !streams.isEmpty && now >= nextTick }

  private func beat(_ now: MonotonicTime) {
    // After a long suspension of the process, at most one interval of heartbeats is sent.
    for _ in 0..<EventHub.slots where isDue(now) {
      finish(hub.endExpired(slot: slot))
      send(hub.heartbeats(slot: slot))
      slot = (slot + 1) % EventHub.slots
      nextTick = nextTick + tick
    }
    if isDue(now) { nextTick = now + tick }
  }
}
