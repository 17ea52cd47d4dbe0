/// A change set that only created records, each exactly as it was sent.
package struct CreatedSet: Sendable, Equatable {
  /// The number of its first operation.
  var first: Int64 = 0
  let zone: String
  /// The seqs of its records.
  private(set) var seqs: ClosedRange<Int64>

  init(zone: String, seq: Int64) { (self.zone, seqs) = (zone, seq...seq) }

  /// Adds the next record.
  ///
  /// - Returns: whether it is the next change of the same zone.
  mutating func add(zone: String, seq: Int64) -> Bool {
    guard zone == self.zone, seq == seqs.upperBound + 1 else { return false }
    seqs = seqs.lowerBound...seq
    return true
  }
}
