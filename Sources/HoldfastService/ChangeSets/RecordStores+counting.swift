import HoldfastCore

/// Writes records, and updates the counts of their zones.
extension RecordStores {
  package func insert(_ record: StoredRecord) throws {
    tables[record.table].put(record)
    try count(record, 1, record.bytes)
  }

  /// - Parameter old: the previous state, as read from the store.
  package func update(_ record: StoredRecord, over old: StoredRecord) throws {
    tables[record.table].put(record)
    if record.zone == old.zone { return try count(record, 0, record.bytes - old.storedBytes) }
    try count(old, -1, -old.storedBytes)
    try count(record, 1, record.bytes)
  }

  /// - Parameter record: as read from the store.
  package func remove(_ record: StoredRecord) throws {
    tables[record.table].remove(record.id)
    try count(record, -1, -record.storedBytes)
  }

  /// Writes a tombstone. Its record may still be counted, if it was changed without updating the counts.
  package func insert(_ tombstone: Tombstone, seq: Int64, of id: String, in table: String, isDeparture: Bool)
    throws
  {
    tombstones.insert(tombstone, seq: seq, of: id, in: table, isDeparture: isDeparture)
    if tombstone.counted == 0 { return }
    let isLog = schema.index(of: table) == conflicts
    let growth = ZoneCounts(records: isLog ? 0 : -1, bytes: -tombstone.counted)
    try ledger.count(growth, in: tombstone.zone, isLog: isLog)
  }

  private func count(_ record: StoredRecord, _ records: Int64, _ bytes: Int64) throws {
    let isLog = record.table == conflicts
    try ledger.count(ZoneCounts(records: isLog ? 0 : records, bytes: bytes), in: record.zone, isLog: isLog)
  }
}
