package import HoldfastCore

/// A transaction of a store, for any engine: the data that it has read, its changes in memory, and the write at its end. It can undo single
/// parts: docs/SERVER.md, "One transaction".
package final class Transaction {
  package let store: any StoreWriter
  package let schema: SyncSchema
  let members: MemberColumns
  let working: WorkingSet
  package private(set) lazy var tables: [RecordTable] = schema.tables.indices.map { RecordTable($0, self) }
  private(set) lazy var tombstones = TombstoneTable(self)
  private(set) lazy var memberList = MemberList(self)
  private(set) lazy var consents = ConsentLedger(self)
  private(set) lazy var requests = RequestLedger(self)
  package let zones: ZoneLedger
  package let devices: DeviceLedger
  /// Whether each write happens at once, inside a savepoint. A violated database rule is then reported at the part that violates it.
  private(set) var isCareful = false
  /// The latest stamp that other servers stored in the rows that the transaction has locked.
  package private(set) var clockSeen = Stamp.zero

  init(_ store: any StoreWriter, _ schema: SyncSchema) {
    self.store = store
    self.schema = schema
    members = MemberColumns(schema)
    working = WorkingSet(schema)
    zones = ZoneLedger(store.zones)
    devices = DeviceLedger(store.devices)
  }

  /// Begins the transaction.
  ///
  /// - Parameters:
  ///   - footprints: the footprint of each command.
  ///   - isCareful: see `isCareful`.
  /// - Returns: the indexes of the commands that must wait for another transaction. The caller skips them in this one.
  package func begin(_ footprints: [Footprint], isCareful: Bool) throws -> Set<Int> {
    self.isCareful = isCareful
    release()
    consents.begin()
    memberList.begin()
    let fetched = try store.begin(footprints)
    for (key, entry) in fetched.records { working.learn(key, entry) }
    for key in fetched.absent { working.learn(key, RecordEntry()) }
    for key in footprints.lazy.flatMap(\.newRecords) { working.learn(key, RecordEntry()) }
    zones.begin(fetched)
    devices.begin(fetched)
    requests.begin(fetched)
    clockSeen = fetched.clock
    return fetched.waiting
  }

  /// Writes all changes, and makes them durable.
  ///
  /// - Parameter changes: the notifications for other servers on the same database.
  package func commit(at clock: Stamp, announcing changes: ZoneChanges) throws {
    var delta = Delta(newZones: zones.takeMade(), records: working.delta)
    delta.clock = clock
    delta.left = consents.left
    zones.fill(&delta)
    devices.fill(&delta)
    requests.fill(&delta)
    try store.commit(delta, announcing: changes)
  }

  /// Gives back the memory of the last transaction.
  func release() { working.removeAll() }

  // MARK: Parts

  /// Begins a part that can be undone separately.
  func beginPart() throws {
    working.beginPart()
    zones.beginPart()
    consents.beginPart()
    devices.beginPart()
    if isCareful { try store.beginSavepoint() }
  }

  /// Called when one operation of the part has written everything. In careful mode, writes the changes.
  ///
  /// - Parameter isBlocked: whether the write must wait, because database rules hold only after later operations.
  package func settle(unless isBlocked: () throws -> Bool) throws {
    guard isCareful, try !isBlocked() else { return }
    let delta = Delta(newZones: zones.takeMade(), records: working.delta)
    if delta.records.isEmpty, delta.newZones.isEmpty { return }
    try store.write(delta)
    working.settle()
  }

  /// Keeps the part.
  func keepPart() throws { if isCareful { try store.keepSavepoint() } }

  /// Undoes the part.
  func undoPart() throws {
    working.undoPart()
    zones.undoPart()
    consents.undoPart()
    devices.undoPart()
    if isCareful { try store.undoSavepoint() }
  }

  // MARK: Records

  /// A record's current state as far as it is known without the lock of its zone.
  func glance(_ key: Footprint.Key) throws -> RecordEntry {
    if let known = working[key] { return known }
    try read([key.id], of: key.table)
    return working[key] ?? RecordEntry()
  }

  /// A record's state, with the zones of the record locked until the end of the transaction. An unknown zone cannot be locked: its records
  /// can be read, but changing one fails.
  func entry(_ key: Footprint.Key) throws -> RecordEntry {
    if store.isAlone { return try glance(key) }
    var asked: TextSet = []
    while true {
      let entry = try glance(key)
      let open = unlocked(entry).filter { !asked.contains($0) }
      if open.isEmpty || working.isChanged(key) { return entry }
      for zone in open.sorted() {
        try zones.lock(zone)
        asked.insert(zone)
      }
      // The record may have changed before the lock was acquired.
      try read([key.id], of: key.table)
    }
  }

  /// Whether there is neither a record nor a tombstone, as far as that can be said without a lock: of what is nowhere there is none to be had.
  func isNowhere(_ key: Footprint.Key) throws -> Bool {
    if let known = working.isNowhere(key) { return known }
    return try glance(key).isNowhere
  }

  /// Reads records that are needed soon, and locks their zones.
  func prefetch(_ table: Int, _ ids: [String]) throws {
    let unknown = ids.filter { working[Footprint.Key(table: table, id: $0)] == nil }
    if unknown.isEmpty { return }
    try read(unknown, of: table)
    if store.isAlone { return }
    var open: TextSet = []
    for id in unknown {
      if let entry = working[Footprint.Key(table: table, id: id)] { open.formUnion(unlocked(entry)) }
    }
    if open.isEmpty { return }
    for zone in open.sorted() { try zones.lock(zone) }
    // The records may have changed before the locks were acquired.
    try read(unknown, of: table)
  }

  private func read(_ ids: [String], of table: Int) throws {
    for (id, entry) in zip(ids, try store.read(ids, of: table)) {
      working.learn(Footprint.Key(table: table, id: id), entry)
    }
  }

  /// The zones that contain a record or its tombstone, and are not locked yet. Mostly there is none.
  private func unlocked(_ entry: RecordEntry) -> [String] {
    var open: [String] = []
    for place in entry.places where place.state != .departed && !zones.isLocked(place.zone) {
      open.append(place.zone)
    }
    return open
  }

  /// Whether a zone has records besides its members.
  func hasRecords(_ zone: String) throws -> Bool {
    let isChanged = working.changed.contains { $0.key.table != members.table && $0.value.home == zone }
    return try isChanged || store.zones.hasRecords(zone)
  }
}
