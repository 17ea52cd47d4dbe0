/// The gap between two neighbours, and the rules by which a replica fills it.
///
/// The tree is Fugue's: each place has descendants before and after it. The names of places differ. A replica that continues a run needs no
/// new level. It counts up in its waypoint when it appends (1, 3, 5, …), and down when it prepends (-1, -3, …). The waypoint may be further
/// up the neighbour's path, so alternating authors do not add levels either.
struct PositionGap {
  /// The preceding neighbour, or the root at the start of the list.
  let left: PositionPath
  /// The following neighbour; nil at the end of the list.
  var right: PositionPath?
  let replica: Position.Replica
  let nonce: UInt64

  func fill() -> [UInt8] {
    if let right, isRightNewer(right) {
      return countingDown(from: right) ?? aboveRight(right)
    }
    return countingUp() ?? belowLeft()
  }

  /// Whether the right neighbour is the newer one: its author knew the left one, or neither author knew the other's.
  ///
  /// A new place belongs to its newer neighbour. That keeps a run together, because its newest member is one of the neighbours.
  private func isRightNewer(_ right: PositionPath) -> Bool {
    let level = left.sharedSteps(with: right)
    guard level < left.steps.count, level < right.steps.count else { return true }
    let before = left.steps[level]
    let after = right.steps[level]
    guard before.author == after.author, before.number != after.number else { return false }
    let isLeftBelowRight =
      !before.isPlace && before.number == after.number - 1 && level == right.steps.count - 1
    return !isLeftBelowRight && after.number >= 2
  }

  /// The next higher number in this replica's own waypoint, the one nearest to the root that is left of the right neighbour.
  private func countingUp() -> [UInt8]? {
    for (level, step) in left.steps.enumerated() where step.number >= 0 && step.author == replica.bytes[...] {
      let number = step.isPlace ? step.number + 2 : step.number + 3
      guard number <= PositionNumber.limit else { continue }
      let stem = left.stem(level, number)
      if let right, right.bytes.starts(with: stem) || !stem.lexicographicallyPrecedes(right.bytes) {
        continue
      }
      return stem + tie
    }
    return nil
  }

  /// The next lower number in this replica's own waypoint, the one nearest to the root that is right of the left neighbour.
  private func countingDown(from right: PositionPath) -> [UInt8]? {
    for (level, step) in right.steps.enumerated() where step.number <= 1 && step.author == replica.bytes[...]
    {
      let number = step.isPlace ? step.number - 2 : step.number - 1
      guard number >= -PositionNumber.limit else { continue }
      let stem = right.stem(level, number)
      if left.bytes.lexicographicallyPrecedes(stem) { return stem + tie }
    }
    return nil
  }

  /// A new waypoint directly after the left neighbour.
  func belowLeft() -> [UInt8] {
    waypoint(under: left.bytes, of: left.steps.last?.author)
  }

  /// A new waypoint directly before the right neighbour.
  private func aboveRight(_ right: PositionPath) -> [UInt8] {
    guard let last = right.steps.last else { return belowLeft() }
    return waypoint(under: right.stem(right.steps.count - 1, last.number - 1), of: last.author)
  }

  /// A sufficiently short place in the gap, as near to the root as possible; nil if there is none.
  ///
  /// It can be further from a neighbour than Fugue's rule requires. Used only if that rule gives a position that is too long.
  func shortcut() -> [UInt8]? {
    let levels = max(left.steps.count, right?.steps.count ?? 0)
    // Both paths are equal before the first difference. A branch there would leave the gap.
    let first = left.sharedSteps(with: right ?? PositionPath())
    for level in first..<max(first, levels) {
      if level < left.steps.count {
        let step = left.steps[level]
        let number = step.isPlace ? step.number + 1 : step.number + 2
        if let found = shortcut(in: left, level, number) { return found }
      }
      if let right, level < right.steps.count {
        let step = right.steps[level]
        let number = step.isPlace ? step.number - 1 : step.number - 2
        if let found = shortcut(in: right, level, number) { return found }
      }
    }
    return nil
  }

  private func shortcut(in path: PositionPath, _ level: Int, _ number: Int64) -> [UInt8]? {
    guard number.magnitude <= PositionNumber.limit else { return nil }
    let found = waypoint(under: path.stem(level, number), of: path.steps[level].author)
    guard found.count <= Position.maximumLength, left.bytes.lexicographicallyPrecedes(found) else {
      return nil
    }
    if let right, !found.lexicographicallyPrecedes(right.bytes) { return nil }
    return found
  }

  private func waypoint(under stem: [UInt8], of author: ArraySlice<UInt8>?) -> [UInt8] {
    var bytes = stem
    if author == replica.bytes[...] {
      bytes.append(PositionPath.sameAuthor)
    } else {
      bytes += replica.bytes
    }
    PositionNumber.append(1, to: &bytes)
    return bytes + tie
  }

  private var tie: [UInt8] {
    PositionDigits.bytes(nonce, count: PositionPath.tieLength)
  }
}
