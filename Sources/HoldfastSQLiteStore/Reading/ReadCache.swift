import HoldfastCore
import HoldfastService

/// A reader's cache of devices, zones and answers. A device that syncs again without changes gets its answer without a search.
///
/// The cache is valid for one state of the database. `PRAGMA data_version` shows, inside the reading transaction, whether another
/// connection of any process has committed since. The reader then drops the whole cache. Writers need not notify the cache, and it is never
/// older than the other data of the transaction. Source: <https://www.sqlite.org/pragma.html#pragma_data_version>.
struct ReadCache {
  /// The maximum number of cached rows, about 300 bytes each. Beyond it, the whole cache is dropped.
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

  /// Opens the cache in a transaction that sees the database at a version.
  mutating func open(at version: Int64?) {
    if version == nil || version != self.version || count > Self.limit { self = ReadCache() }
    self.version = version
    isOpen = true
  }

  /// Closes the cache: outside a transaction its state would be unknown.
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
    // Refusals have up to some kilobytes each, and few devices have any. Only empty lists are cached.
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
