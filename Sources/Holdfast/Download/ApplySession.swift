import HoldfastCore

/// What is remembered while one answer is applied.
struct ApplySession {
  /// Whether the device has any edit that is not confirmed; without one nothing can be dirty.
  let hasEdits: Bool
  /// The zone being applied.
  private(set) var zone = ""
  /// In a zone that is downloaded again, the records that came, by table; else nil.
  var seen: [Int: TextSet]?
  /// The zones before it in the answer that were downloaded again, until the records that did not come are removed.
  private(set) var resynced: TextMap<ResyncedZone> = [:]
  /// The number of records that came with those zones.
  private(set) var resyncedCount = 0
  /// In a zone of which the server has lost something: the tables of which this device may recover it.
  private(set) var writable: Set<Int> = []
  /// Whether the server has lost some of the zone.
  private(set) var isRestored = false
  /// Whether records of the zone may have edits that no trigger recorded.
  private(set) var isCompared = false
  /// What was here and the server has otherwise, and can't be told from what others have changed since.
  var unrecorded: [UnrecordedOperation] = []
  /// What the change sets created whose records an answer names as they were sent; by the first number of each.
  var sent: [Int64: [CreatedRecord]] = [:]
  /// Whether a restored server has lost edits of this device that were not heard.
  var hasLost = false
  /// The files of the staged pages that were applied.
  var usedPages: [String] = []
  /// Tombstones, which are dealt with when all records of the answer are there.
  var deleted: [(table: Int, id: String, zone: String, rev: Int64)] = []
  /// The zones that were compared whole.
  var compared: TextSet = []

  init(hasEdits: Bool) { self.hasEdits = hasEdits }

  mutating func begin(zone: String, isResync: Bool, isCompared: Bool = false, writable: Set<Int>? = nil) {
    self.zone = zone
    self.isCompared = isCompared
    isRestored = writable != nil
    self.writable = writable ?? []
    seen = isResync ? [:] : nil
  }

  /// Ends the zone.
  ///
  /// - Returns: whether it was downloaded again.
  mutating func end() -> Bool {
    guard let seen else { return false }
    resynced[zone] = ResyncedZone(seen: seen, writable: isRestored ? writable : nil, isCompared: isCompared)
    resyncedCount += seen.values.reduce(0) { $0 + $1.count }
    self.seen = nil
    return true
  }

  /// Takes the zones that were downloaded again.
  mutating func takeResynced() -> TextMap<ResyncedZone> {
    defer { (resynced, resyncedCount) = ([:], 0) }
    return resynced
  }
}
