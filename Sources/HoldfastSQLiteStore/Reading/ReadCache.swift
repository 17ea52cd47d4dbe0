import HoldfastCore
import HoldfastService

/// What a reader has read of devices and zones, for as long as nobody has written: a device that comes again and finds nothing new is answered
/// without a search.
///
/// It holds for one state of the database. SQLite tells by `PRAGMA data_version`, within the transaction that reads, whether another connection has
/// committed since, in this process or in another; then all of it is dropped. So it needs no word from who writes, and can't be older than what is
/// read beside it. Source: <https://www.sqlite.org/pragma.html#pragma_data_version>.
struct ReadCache {
  /// How many rows are kept, about 300 bytes each; beyond them all are dropped.
  static let limit = 20_000

  private(set) var isOpen = false
  private var version: Int64?
  private var count = 0
  private var devices: [TokenHash: KnownDevice] = [:]
  private var answers: [Int64: (request: QuietRequest, answer: [UInt8])] = [:]
  private var zonesOfDevices: [Int64: [ZoneProgress]] = [:]
  private var refusalsOfDevices: [Int64: [StoredRefusal]] = [:]
  private var zonesOfUsers: TextMap<TextMap<ZoneProgress>> = [:]
  private var visible: TextMap<VisibleZones> = [:]

  /// Begins to answer, in a transaction that sees the database in the state of a version.
  mutating func open(at version: Int64?) {
    if version == nil || version != self.version || count > Self.limit { self = ReadCache() }
    self.version = version
    isOpen = true
  }

  /// Ends to answer: outside a transaction nobody knows of which state it would be.
  mutating func close() { isOpen = false }

  func device(_ token: TokenHash) -> KnownDevice? { isOpen ? devices[token] : nil }

  mutating func keep(_ device: KnownDevice) { keep(1) { $0.devices[device.key.token] = device } }

  func answer(to request: QuietRequest, of device: Int64) -> [UInt8]? {
    guard isOpen, let known = answers[device], known.request == request else { return nil }
    return known.answer
  }

  mutating func keep(_ answer: [UInt8], to request: QuietRequest, of device: Int64) {
    keep(1 + answer.count / 300) { $0.answers[device] = (request, answer) }
  }

  func zones(of device: Int64) -> [ZoneProgress]? { isOpen ? zonesOfDevices[device] : nil }

  mutating func keep(_ zones: [ZoneProgress], of device: Int64) {
    keep(1 + zones.count) { $0.zonesOfDevices[device] = zones }
  }

  func refusals(of device: Int64) -> [StoredRefusal]? { isOpen ? refusalsOfDevices[device] : nil }

  mutating func keep(_ refusals: [StoredRefusal], of device: Int64) {
    // Each has a text of up to some kilobytes; few have any.
    if refusals.isEmpty { keep(1) { $0.refusalsOfDevices[device] = [] } }
  }

  func zone(_ zone: String, for user: String) -> ZoneProgress? { isOpen ? zonesOfUsers[user]?[zone] : nil }

  mutating func keep(_ zone: ZoneProgress, for user: String) {
    keep(1) { $0.zonesOfUsers[user, default: [:]][zone.zone] = zone }
  }

  func visibleZones(of user: String) -> VisibleZones? { isOpen ? visible[user] : nil }

  mutating func keep(_ zones: VisibleZones, of user: String) {
    keep(1 + zones.zones.count) { $0.visible[user] = zones }
  }

  private mutating func keep(_ rows: Int, _ put: (inout ReadCache) -> Void) {
    guard isOpen else { return }
    count += rows
    put(&self)
  }
}
