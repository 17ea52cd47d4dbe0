import HoldfastCore

/// The shared database as a service token lets it be read: as the server reads it, without all that the token does not name. Whoever is asked
/// for makes no difference. Source: docs/IDENTITY.md, section 6.
final class ScopedReader: StoreReader {
  private let store: any StoreReader
  private let scope: TokenScope
  private let schema: SyncSchema

  init(_ store: any StoreReader, _ scope: TokenScope, _ schema: SyncSchema) {
    self.store = store
    self.scope = scope
    self.schema = schema
  }

  private func require(table: Int) throws(Problem) {
    let table = schema.tables[table]
    if !scope.has(table: table) {
      throw Problem(.tokenLimited, "It does not name the table \(table.name).")
    }
  }

  /// The zone with the token's role; with none when the token does not name it.
  private func seen(_ zone: ZoneState) -> ZoneState {
    var zone = zone
    zone.role = scope.has(zone: zone.zone) ? scope.role.rawValue : ""
    return zone
  }

  var history: History { store.history }

  var prover: Prover { store.prover }

  func claims(of user: String) throws -> TextMap<ZoneClaim.Mark> { [:] }

  // MARK: Zones

  func restored(_ zones: [String]) throws -> TextMap<RestoredZone> {
    try store.restored(zones.filter { scope.has(zone: $0) })
  }

  func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones {
    try visibleZones(among: scope.zones?.sorted())
  }

  func visibleZones(among zones: [String]?) throws -> VisibleZones {
    let visible = try store.visibleZones(among: zones)
    return VisibleZones(
      visible.zones.filter { scope.has(zone: $0.zone) }.map {
        VisibleZones.Zone(zone: $0.zone, seq: $0.seq, purged: $0.purged, role: scope.role.rawValue)
      }, losses: 0)
  }

  func zone(_ zone: String, for user: String?) throws -> ZoneState? {
    scope.has(zone: zone) ? try store.zone(zone, for: nil).map(seen) : nil
  }

  func refreshed(_ zones: [ZoneState], for user: String?) throws -> [ZoneState] {
    try store.refreshed(zones, for: nil).map(seen)
  }

  func writeChanges(of zone: ZoneState, to writer: inout JSONWriter, limit: Int, count: Int64) throws
    -> WrittenChanges
  {
    guard scope.has(zone: zone.zone), scope.tables == nil else { throw Problem(.tokenLimited) }
    return try store.writeChanges(of: zone, to: &writer, limit: limit, count: count)
  }

  // MARK: Records

  func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    try require(table: table)
    return try store.records(ids, of: table, for: nil).filter { _, record in
      switch record {
      case .live(let record, _): scope.has(zone: record.zone)
      case .deleted(let tombstone): scope.has(zone: tombstone.zone)
      }
    }
  }

  func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String] {
    try require(table: query.table)
    return try store.ids(query, in: zones.filter(scope.has(zone:)), limit: limit)
  }

  func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64> {
    try require(table: list.table)
    return scope.has(zone: list.zone) ? try store.ranks(of: ids, in: list) : [:]
  }

  func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange] {
    try require(table: table)
    return scope.has(zone: zone) ? try store.changes(of: table, in: zone, after: seq, limit: limit) : []
  }

  // MARK: The token's own

  func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head? {
    try store.keptResult(token, of: user)
  }

  func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String] {
    try store.keptIDs(token, of: user, chunk: chunk)
  }

  func moment<Result>(_ body: () throws -> Result) throws -> Result { try store.moment(body) }

  func transaction<Result>(_ body: () throws -> Result) throws -> Result { try store.transaction(body) }

  func device(_ token: TokenHash) throws -> KnownDevice? { try store.device(token) }

  // What only devices and the server itself ask for: nothing of it is the token's.

  func account(_ name: String) throws -> (id: String, password: String)? { nil }

  func account(id: String) throws -> (name: String, password: String)? { nil }

  func devices(of user: String, limit: Int) throws -> [ListedDevice] { [] }

  func zones(of device: DeviceKey) throws -> [ZoneState] { [] }

  func refusals(of device: Int64) throws -> [StoredRefusal] { [] }

  func memberships(of user: String) throws -> [String] { [] }

  func invitations(to zone: String) throws -> [Invitation] { [] }

  func invitation(_ token: TokenHash) throws -> Invitation? { nil }

  func user(named name: String) throws -> FoundUser? { nil }

  func pendingMemberships(of user: String) throws -> [PendingMembership] { [] }

  func pendingZones(of user: String) throws -> [String] { [] }

  func grants(of group: String) throws -> [GroupGrant] { [] }

  func blocks(of user: String) throws -> [BlockedUser] { [] }

  func ownRole(of user: String, in zone: String) throws -> Role? { nil }

  func erasedUser(after id: String) throws -> String? { nil }

  func erasedZones() throws -> TextMap<Int64> { [:] }

  func emptyLog() throws -> Bool { false }

  func unnotified(_ zones: [String]?, limit: Int) throws -> [UnnotifiedZone] { [] }

  func lag(of user: String?) throws -> [DeviceLag] { [] }

  func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int) throws
    -> FoundPurgeable
  { FoundPurgeable() }
}
