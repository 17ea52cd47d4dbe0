/// What became of one zone since the restore.
package struct RestoreLine {
  package let cells: [String]

  /// - Parameter numbers: seq at the restore, greatest seq claimed, records and deletions recovered, and how many changes are in these.
  package init(_ zone: String, _ numbers: [Int64]) {
    // Each change of the lost history had a seq of its own, and a rev of its record.
    let missing = max(0, numbers[1] - numbers[0] - numbers[4])
    cells = [zone] + (numbers.prefix(4) + [missing]).map(String.init)
  }
}
