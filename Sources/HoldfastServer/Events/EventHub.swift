import HoldfastCore
import HoldfastService

/// Decides which event stream receives which zone names: only zones that its user may read. Pure: no thread, clock or sockets. Source:
/// docs/PUSH.md.
struct EventHub {
  /// The device behind a stream, and the zones whose changes it is sent.
  struct Listener: Equatable {
    let device: Int64
    let user: String
    let zones: [String]
    /// Whether it follows every zone, regardless of `zones`.
    var receivesAll = false
  }

  /// An event ready to send on one stream.
  struct Event: Equatable {
    let stream: Int
    let bytes: [UInt8]
  }

  private enum Unnotified {
    case nothing
    case zones(TextSet)
    case all
  }

  private struct Stream {
    let token: TokenHash
    var listener: Listener
    var unnotified = Unnotified.nothing
  }

  /// The number of heartbeat slots in an interval. Each stream belongs to one slot.
  static let slots = 64
  /// A stream with more unsent zones than this is notified with "all".
  static let zoneLimit = 256

  private let text: EventText
  private let listener: (TokenHash) -> Listener?
  private let expired: ([TokenHash]) -> Set<TokenHash>
  private var log: ZoneChangeLog
  private var streams: [Int: Stream] = [:]
  private var ofDevice: [Int64: Int] = [:]
  private var ofUser: TextMap<Set<Int>> = [:]
  private var ofZone: TextMap<Set<Int>> = [:]
  private var ofAllZones: Set<Int> = []
  private var inSlot: [Set<Int>] = Array(repeating: [], count: slots)
  /// The streams with unsent zones, longest waiting first.
  private var waiting: [Int] = []

  /// - Parameters:
  ///   - text: encodes events.
  ///   - listener: reads the device of a token and its zones; nil if the token is no longer valid, or the read fails.
  ///   - expired: reads which of some tokens are no longer valid.
  init(
    _ text: EventText, log: ZoneChangeLog = ZoneChangeLog(), listener: @escaping (TokenHash) -> Listener?,
    expired: @escaping ([TokenHash]) -> Set<TokenHash>
  ) {
    self.text = text
    self.log = log
    self.listener = listener
    self.expired = expired
  }

  var count: Int { streams.count }

  /// Whether any stream has unsent zones.
  var hasEvents: Bool { !waiting.isEmpty }

  // MARK: Streams

  /// Registers a stream. It receives every change from here on.
  ///
  /// - Parameters:
  ///   - number: a number never used before.
  ///   - lastEventID: the id of the last event that the device received; nil if none.
  /// - Returns: the first event, or nil if the token is invalid and no stream was registered; and the older stream of the device, now
  ///   removed.
  mutating func open(
    _ number: Int, token: TokenHash, lastEventID: String?
  ) -> (hello: [UInt8]?, ended: Int?) {
    guard let listener = listener(token) else { return (nil, nil) }
    let older = ofDevice[listener.device]
    if let older { close(older) }
    streams[number] = Stream(token: token, listener: listener)
    ofDevice[listener.device] = number
    inSlot[number % Self.slots].insert(number)
    enter(number, listener)
    let missed = missed(by: listener, since: lastEventID)
    for zone in missed ?? [] { add(zone, to: number) }
    return (
      text.hello(counter: log.counter, streams: count, hasMissed: missed == nil), older
    )
  }

  /// Removes a stream.
  mutating func close(_ number: Int) {
    guard let stream = streams.removeValue(forKey: number) else { return }
    leave(number, stream.listener)
    if ofDevice[stream.listener.device] == number { ofDevice[stream.listener.device] = nil }
    inSlot[number % Self.slots].remove(number)
  }

  /// The visible zones that changed since an event. Nil if unknown, or if the device may have gained or lost access to zones since.
  private func missed(by listener: Listener, since id: String?) -> [String]? {
    guard !listener.receivesAll, let moment = id.flatMap(text.counter(of:)), moment >= log.floor,
      moment <= log.counter,
      !log.hasMoved(.user(listener.user), since: moment),
      !log.hasMoved(.device(listener.device), since: moment)
    else { return nil }
    return listener.zones.filter { log.hasMoved(.zone($0), since: moment) }
  }

  private mutating func enter(_ number: Int, _ listener: Listener) {
    ofUser[listener.user, default: []].insert(number)
    for zone in listener.zones { ofZone[zone, default: []].insert(number) }
    if listener.receivesAll { ofAllZones.insert(number) }
  }

  private mutating func leave(_ number: Int, _ listener: Listener) {
    ofAllZones.remove(number)
    ofUser[listener.user]?.remove(number)
    if ofUser[listener.user]?.isEmpty == true { ofUser[listener.user] = nil }
    for zone in listener.zones {
      ofZone[zone]?.remove(number)
      if ofZone[zone]?.isEmpty == true { ofZone[zone] = nil }
    }
  }

  // MARK: Zone changes

  /// Adds the changes of a commit. Call it after the commit.
  ///
  /// - Returns: the streams that were removed because their tokens are no longer valid.
  mutating func moved(_ changes: ZoneChanges) -> [Int] {
    if changes.isEmpty { return [] }
    log.note(changes)
    var ended: [Int] = []
    for number in affected(changes) {
      if let listener = streams[number].flatMap({ listener($0.token) }) {
        change(number, listener)
      } else {
        close(number)
        ended.append(number)
      }
    }
    // Sorted, so that a simulation can repeat it.
    for (zone, author) in changes.zones.sorted(by: { $0.key < $1.key }) {
      for number in ofZone[zone, default: []].union(ofAllZones).sorted()
      where author == nil || streams[number]?.listener.device != author {
        add(zone, to: number)
      }
    }
    return ended
  }

  /// Clears the log, because changes may have been missed. A device that reconnects with an earlier event id then gets `missed`, and pulls.
  mutating func purge() { log.purgeAll() }

  private func affected(_ changes: ZoneChanges) -> [Int] {
    var numbers = Set(changes.devices.compactMap { ofDevice[$0] })
    for user in changes.users { numbers.formUnion(ofUser[user, default: []]) }
    return numbers.sorted()
  }

  /// Replaces the zones of a stream, and notifies its device with "all".
  private mutating func change(_ number: Int, _ new: Listener) {
    guard let old = streams[number]?.listener else { return }
    leave(number, old)
    streams[number]?.listener = new
    enter(number, new)
    wait(number)
    streams[number]?.unnotified = .all
  }

  private mutating func add(_ zone: String, to number: Int) {
    wait(number)
    switch streams[number]?.unnotified {
    case .nothing: streams[number]?.unnotified = .zones([zone])
    case .zones(var zones):
      streams[number]?.unnotified = .nothing
      zones.insert(zone)
      streams[number]?.unnotified = zones.count > Self.zoneLimit ? .all : .zones(zones)
    case .all, nil: break
    }
  }

  private mutating func wait(_ number: Int) {
    if case .nothing = streams[number]?.unnotified { waiting.append(number) }
  }

  // MARK: Events

  /// The next events: at most `limit`, for the streams that have waited longest.
  mutating func takeEvents(_ limit: Int) -> [Event] {
    let taken = waiting.prefix(limit)
    waiting.removeFirst(taken.count)
    return taken.compactMap { event($0) }
  }

  /// Removes the streams of one slot whose tokens are no longer valid: a session's time may end, and a program that is not the writer may
  /// revoke it.
  ///
  /// - Returns: their numbers.
  mutating func endExpired(slot: Int) -> [Int] {
    let tokens = inSlot[slot].compactMap { streams[$0]?.token }
    if tokens.isEmpty { return [] }
    let expired = expired(tokens)
    let ended = inSlot[slot].filter { streams[$0].map { expired.contains($0.token) } ?? false }
    for number in ended { close(number) }
    return ended.sorted()
  }

  /// The heartbeats of one slot, 0 ..< `slots`. A stream with unsent zones gets them instead of an empty heartbeat.
  mutating func heartbeats(slot: Int) -> [Event] {
    inSlot[slot].sorted().map { number in
      event(number) ?? Event(stream: number, bytes: text.heartbeat(counter: log.counter, streams: count))
    }
  }

  private mutating func event(_ number: Int) -> Event? {
    guard let stream = streams[number] else { return nil }
    let zones: [String]
    switch stream.unnotified {
    case .nothing: return nil
    case .zones(let some): zones = some.sorted()
    case .all: zones = []
    }
    streams[number]?.unnotified = .nothing
    return Event(stream: number, bytes: text.moved(zones, counter: log.counter))
  }
}
