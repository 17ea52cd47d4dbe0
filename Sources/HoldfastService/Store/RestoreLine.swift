/// A row of the restore report: the recovery of one zone.
package struct RestoreLine {
  package let cells: [String]

  /// - Parameter numbers: seq at the restore, greatest claimed seq, recovered records, recovered deletions, and the number of changes
  ///   that these contain.
  package init(_ zone: String, _ numbers: [Int64]) {
    // Each change in the lost history has its own seq, and its own rev of its record.
    let missing = max(0, numbers[1] - numbers[0] - numbers[4])
    cells = [zone] + (numbers.prefix(4) + [missing]).map(String.init)
  }
}
