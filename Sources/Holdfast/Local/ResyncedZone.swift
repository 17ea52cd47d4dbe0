import HoldfastCore

/// A zone that was downloaded again, until the records that did not come with it are removed.
struct ResyncedZone {
  /// The records that came, by table.
  var seen: [Int: TextSet] = [:]
  /// The tables of which this device may recover what the server has lost of the zone; nil if it has lost nothing.
  var writable: Set<Int>?
  /// Whether records of the zone may have edits that no trigger recorded.
  var isCompared = false
}
