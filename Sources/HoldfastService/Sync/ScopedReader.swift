package import HoldfastCore

/// The shared database within the scope of a service token: as the server reads it, without tables and zones outside the scope. User
/// parameters are ignored. docs/IDENTITY.md, section 6.
package final class ScopedReader: StoreReader {
  private let store: any StoreReader
  private let scope: TokenScope
  private let schema: SyncSchema

  package init(_ store: any StoreReader, _ scope: TokenScope, _ schema: SyncSchema) {
    self.store = store
    self.scope = scope
    self.schema = schema
  }

  private func require(table: Int) throws(Problem) {
    try scope.require(table: schema.tables[table])
  }

  /// The zone with the token's role; with an empty role outside the scope.
  private func seen(_ zone: ZoneProgress) -> ZoneProgress {
    var zone = zone
    zone.role = scope.has(zone: zone.zone) ? scope.role.rawValue : ""
    return zone
  }

  package var history: History { store.history }

  package var prover: Prover { store.prover }

  package func claims(of user: String) throws -> TextMap<ZoneClaim.Mark> { [:] }

  // MARK: Zones

  package func restored(_ zones: [String]) throws -> TextMap<RestoredZone> {
    try store.restored(zones.filter { scope.has(zone: $0) })
  }

  package func visibleZones(of user: String, publicZones: [String]) throws -> VisibleZones {
    try visibleZones(among: scope.zones?.sorted())
  }

  package func visibleZones(among zones: [String]?) throws -> VisibleZones {
    let visible = try store.visibleZones(among: zones)
    return VisibleZones(
      visible.zones.filter { scope.has(zone: $0.zone) }.map {
        VisibleZones.Zone(zone: $0.zone, seq: $0.seq, purged: $0.purged, role: scope.role.rawValue)
      }, losses: 0)
  }

  package func zone(_ zone: String, for user: String?) throws -> ZoneProgress? {
    if !scope.has(zone: zone) { return nil }
    if let database = try store.places(of: [zone])[zone]?.leftFor { throw Problem(moved: zone, to: database) }
    return try store.zone(zone, for: nil).map(seen)
  }

  package func refreshed(_ zones: [ZoneProgress]) throws -> [ZoneProgress] {
    try store.refreshed(zones).map(seen)
  }

  package func writeChanges(of zone: ZoneProgress, to writer: inout JSONWriter, limit: Int, count: Int64)
    throws
    -> WrittenChanges
  {
    guard scope.has(zone: zone.zone), scope.tables == nil else { throw Problem(.tokenLimited) }
    return try store.writeChanges(of: zone, to: &writer, limit: limit, count: count)
  }

  // MARK: Records

  package func records(_ ids: [String], of table: Int, for user: String?) throws -> TextMap<SeenRecord> {
    try require(table: table)
    let found = try store.records(ids, of: table, for: nil).filter { scope.has(zone: $0.value.zone) }
    let places = try found.isEmpty ? [:] : store.places(of: TextSet(found.values.map(\.zone)).sorted())
    return found.filter { places[$0.value.zone]?.leftFor == nil }
  }

  package func ids(_ query: RecordQuery, in zones: [String], limit: Int) throws -> [String] {
    try require(table: query.table)
    return try store.ids(query, in: zones.filter(scope.has(zone:)), limit: limit)
  }

  package func ranks(of ids: [String], in list: RecordList) throws -> TextMap<Int64> {
    try require(table: list.table)
    return scope.has(zone: list.zone) ? try store.ranks(of: ids, in: list) : [:]
  }

  package func changes(of table: Int, in zone: String, after seq: Int64, limit: Int) throws -> [RecordChange]
  {
    try require(table: table)
    return scope.has(zone: zone) ? try store.changes(of: table, in: zone, after: seq, limit: limit) : []
  }

  // MARK: The token's own

  package func keptResult(_ token: TokenHash, of user: String) throws -> KeptResult.Head? {
    try store.keptResult(token, of: user)
  }

  package func keptIDs(_ token: TokenHash, of user: String, chunk: Int) throws -> [String] {
    try store.keptIDs(token, of: user, chunk: chunk)
  }

  package func moment<Result>(_ body: () throws -> Result) throws -> Result { try store.moment(body) }

  package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
    try store.transaction(body)
  }

  package func device(_ token: TokenHash) throws -> KnownDevice? { try store.device(token) }

  package func devices(_ tokens: [TokenHash]) throws -> [KnownDevice] { try store.devices(tokens) }

  // Data of devices and of the server itself. A service token has none of it.

  package func followed(by device: Int64, among zones: [String]) throws -> [String] { [] }

  package func hasTicket(_ ticket: TokenHash, at now: Int64) throws -> Bool { false }

  package func account(_ name: String) throws -> (id: String, password: String)? { nil }

  package func account(id: String) throws -> (name: String, password: String)? { nil }

  package func home(ofGuest user: String) throws -> String? { nil }

  package func hasAccount(_ user: String) throws -> Bool { false }

  package func databaseName() throws -> String? { nil }

  package func directoryWork(at now: Int64, limit: Int) throws -> DirectoryWork { DirectoryWork() }

  package func accounts(_ kind: AccountKind, after id: String, limit: Int) throws -> [Resident] { [] }

  package func devices(of user: String, limit: Int) throws -> [ListedDevice] { [] }

  package func zones(of device: DeviceKey) throws -> [ZoneProgress] { [] }

  package func refusals(of device: Int64) throws -> [StoredRefusal] { [] }

  package func places(of zones: [String]) throws -> TextMap<ZonePlace> { [:] }

  package func memberships(of user: String) throws -> [String] { [] }

  package func invitations(to zone: String) throws -> [Invitation] { [] }

  package func invitationTokens(to zone: String) throws -> [(Invitation, TokenHash)] { [] }

  package func carried(into zone: String, after last: CarriedOrigin?, limit: Int) throws -> [CarriedOrigin] {
    []
  }

  package func invitation(_ token: TokenHash) throws -> Invitation? { nil }

  package func user(named name: String) throws -> FoundUser? { nil }

  package func user(of identity: Identity) throws -> String? { nil }

  package func pendingMemberships(of user: String) throws -> [PendingMembership] { [] }

  package func leftZones(of user: String) throws -> [String] { [] }

  package func pendingZones(of user: String) throws -> [String] { [] }

  package func grants(of group: String) throws -> [GroupGrant] { [] }

  package func blocks(of user: String) throws -> [BlockedUser] { [] }

  package func ownRole(of user: String, in zone: String) throws -> Role? { nil }

  package func erasedUser(after id: String) throws -> String? { nil }

  package func erasedZones() throws -> TextMap<Int64> { [:] }

  package func emptyLog() throws -> Bool { false }

  package func zonesToNotify(_ zones: [String]) throws -> [UnnotifiedZone] { [] }

  package func unnotifiedZones(after place: String, limit: Int) throws -> [String] { [] }

  package func pushTargets(_ audience: PushAudience, after number: Int64, limit: Int) throws -> [PushTarget] {
    []
  }

  package func lag(of user: String?) throws -> [DeviceLag] { [] }

  package func purgeable(_ kind: Purgeable.Kind, after place: String, _ terms: RetentionTerms, limit: Int)
    throws
    -> FoundPurgeable
  { FoundPurgeable() }
}
