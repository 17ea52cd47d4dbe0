import HoldfastCore
import HoldfastService

/// Decides which event stream receives which zone names: only zones that its user may read. Pure: no thread, clock or sockets. Source:
/// docs/PUSH.md.
struct EventHub {
  /// The device behind a stream, and whose changes it is sent.
  struct Listener: Equatable {
    let device: Int64
    let user: String
    /// The zones of the device alone: the public ones that it follows, or those of its token.
    let zones: [String]
    /// Whether it is sent those of its user, too.
    var isMember = true
    /// Whether it is sent every zone, regardless of `zones`.
    var receivesAll = false
  }

  /// Reads what the hub has to know.
  struct Source {
    /// The device of a token; nil if the token is no longer valid, or the read fails.
    let listener: (TokenHash) -> Listener?
    /// The zones of a user; nil if the read fails.
    let zones: (_ user: String) -> [String]?
    /// Which of some tokens are no longer valid.
    let expired: ([TokenHash]) -> Set<TokenHash>
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

  /// The zones of a user, kept once for all streams of the user.
  private struct Audience {
    let zones: TextSet
    /// The round of heartbeats in which the zones were read.
    let round: Int
    /// Whether the zones are read again in the next round: a program that is not the writer may have changed them.
    var isDoubted = false
  }

  /// The number of heartbeat slots in an interval. Each stream belongs to one slot.
  static let slots = 64
  /// A stream with more unsent zones than this is notified with "all".
  static let zoneLimit = 256

  private let text: EventText
  private let source: Source
  private var log: ZoneChangeLog
  private var streams: [Int: Stream] = [:]
  private var ofDevice: [Int64: Int] = [:]
  private var ofUser: TextMap<Set<Int>> = [:]
  private var audiences: TextMap<Audience> = [:]
  /// The number of the round of heartbeats.
  private var round = 0
  /// The users among `audiences` that a zone has.
  private var usersOfZone: TextMap<TextSet> = [:]
  /// The streams that have a zone for themselves.
  private var ofZone: TextMap<Set<Int>> = [:]
  private var ofAllZones: Set<Int> = []
  private var inSlot: [Set<Int>] = Array(repeating: [], count: slots)
  /// The streams with unsent zones, longest waiting first.
  private var waiting: [Int] = []

  /// - Parameters:
  ///   - text: encodes events.
  init(_ text: EventText, log: ZoneChangeLog = ZoneChangeLog(), _ source: Source) {
    self.text = text
    self.log = log
    self.source = source
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
    guard let listener = source.listener(token), !listener.isMember || checkZones(of: listener.user) else {
      return (nil, nil)
    }
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
    let shared = listener.isMember ? audiences[listener.user]?.zones ?? [] : []
    return (listener.zones + shared).filter { log.hasMoved(.zone($0), since: moment) }
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

  // MARK: Users

  /// Reads the zones of a user, but once in a round of heartbeats: who opens streams again and again costs no more.
  ///
  /// - Returns: whether they are known.
  private mutating func checkZones(of user: String) -> Bool {
    guard let known = audiences[user] else { return readZones(of: user) }
    if known.round != round { return readZones(of: user) }
    audiences[user]?.isDoubted = true
    return true
  }

  /// Reads the zones of a user, and notifies the user's streams if they are others.
  ///
  /// - Returns: false if they can't be read.
  @discardableResult
  private mutating func readZones(of user: String) -> Bool {
    guard let zones = source.zones(user).map({ TextSet($0) }) else { return false }
    let isOther = audiences[user].map { $0.zones != zones } ?? false
    keep(zones, of: user)
    audiences[user] = Audience(zones: zones, round: round)
    if isOther { for number in memberStreams(of: user).sorted() { notifyOfAll(number) } }
    return true
  }

  /// The streams that are sent the zones of a user.
  private func memberStreams(of user: String) -> Set<Int> {
    (ofUser[user] ?? []).filter { streams[$0]?.listener.isMember == true }
  }

  /// Puts a user where the zones lead to their users.
  private mutating func keep(_ zones: TextSet, of user: String) {
    let old = audiences[user]?.zones ?? []
    for zone in old where !zones.contains(zone) {
      usersOfZone[zone]?.remove(user)
      if usersOfZone[zone]?.isEmpty == true { usersOfZone[zone] = nil }
    }
    for zone in zones where !old.contains(zone) { usersOfZone[zone, default: []].insert(user) }
  }

  private mutating func forget(_ user: String) {
    keep([], of: user)
    audiences[user] = nil
  }

  /// Begins a round of heartbeats.
  private mutating func beginRound() {
    round += 1
    // Who comes back within a round is known still.
    for user in audiences.keys where ofUser[user] == nil { forget(user) }
    // Sorted, so that a simulation can repeat it.
    for user in audiences.filter(\.value.isDoubted).map(\.key).sorted() { readZones(of: user) }
  }

  // MARK: Zone changes

  /// Adds the changes of a commit. Call it after the commit.
  ///
  /// - Returns: the streams that were removed because their tokens are no longer valid.
  mutating func moved(_ changes: ZoneChanges) -> [Int] {
    if changes.isEmpty { return [] }
    log.note(changes)
    var ended = changes.users.sorted().flatMap { moved(user: $0) }
    for number in changes.devices.compactMap({ ofDevice[$0] }).sorted() where !reload(number) {
      close(number)
      ended.append(number)
    }
    // Sorted, so that a simulation can repeat it.
    for (zone, author) in changes.zones.sorted(by: { $0.key < $1.key }) {
      for number in receivers(of: zone).sorted()
      where author == nil || streams[number]?.listener.device != author {
        add(zone, to: number)
      }
    }
    return ended
  }

  /// The session of a stream's device, or what it follows, is another.
  ///
  /// - Returns: false if the stream must end.
  private mutating func reload(_ number: Int) -> Bool {
    guard let stream = streams[number], let listener = source.listener(stream.token),
      !listener.isMember || checkZones(of: listener.user)
    else { return false }
    leave(number, stream.listener)
    streams[number]?.listener = listener
    enter(number, listener)
    notifyOfAll(number)
    return true
  }

  private func receivers(of zone: String) -> Set<Int> {
    var numbers = ofAllZones.union(ofZone[zone, default: []])
    for user in usersOfZone[zone] ?? [] { numbers.formUnion(memberStreams(of: user)) }
    return numbers
  }

  /// A user has gained or lost zones or sessions.
  ///
  /// - Returns: the streams that were removed: whose zones can't be read reconnects.
  private mutating func moved(user: String) -> [Int] {
    guard let numbers = ofUser[user]?.sorted() else {
      forget(user)
      return []
    }
    let isKnown = audiences[user] == nil || readZones(of: user)
    if !isKnown { forget(user) }
    let expired = isKnown ? source.expired(numbers.compactMap { streams[$0]?.token }) : []
    let ended = numbers.filter { number in
      streams[number].map { expired.contains($0.token) || !isKnown && $0.listener.isMember } ?? false
    }
    for number in ended { close(number) }
    for number in numbers where streams[number] != nil { notifyOfAll(number) }
    return ended
  }

  /// Clears the log, because changes may have been missed. A device that reconnects with an earlier event id then gets `missed`, and pulls.
  /// Removes all streams: what is known of their zones may be wrong, too.
  mutating func purge() {
    for number in streams.keys { close(number) }
    for user in audiences.keys { forget(user) }
    log.purgeAll()
  }

  private mutating func notifyOfAll(_ number: Int) {
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
    if slot == 0 { beginRound() }
    let tokens = inSlot[slot].compactMap { streams[$0]?.token }
    if tokens.isEmpty { return [] }
    let expired = source.expired(tokens)
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
