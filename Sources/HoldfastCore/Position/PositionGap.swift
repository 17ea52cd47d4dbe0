/// The gap between two neighbours, and the rules by which a replica fills it.
///
/// The tree is Fugue's: each place has descendants that come before it and others that come after it. What differs
/// is how a place is named. A replica that goes on where it stands needs no new level: it counts up in its waypoint
/// when it goes forward (1, 3, 5, …) and down when it goes backward (-1, -3, …), also in a waypoint further
/// up its neighbour's path, so that people who take turns don't pile up levels either.
struct PositionGap {
  /// The neighbour before, or the root at the list's start.
  let left: PositionPath
  /// The neighbour after, or nil at the list's end.
  var right: PositionPath?
  let replica: Position.Replica
  let nonce: UInt64

  func fill() -> [UInt8] {
    if let right, isRightNewer(right) {
      return countingDown(from: right) ?? aboveRight(right)
    }
    return countingUp() ?? belowLeft()
  }

  /// Whether the right neighbour was made by someone who knew the left one, or at least not the other way round.
  ///
  /// A new place belongs to the newer of its neighbours: that keeps a run together, whose newest member is one of them.
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

  /// The next number up in this replica's own waypoint nearest to the root that is left of the right neighbour.
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

  /// The next number down in this replica's own waypoint nearest to the root that is right of the left neighbour.
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

  /// Any place in the gap that is short enough, as near to the root as there is one; nil when there is none.
  ///
  /// It may lie further from a neighbour than Fugue's rule asks, so it is for neighbours too long for that rule.
  func shortcut() -> [UInt8]? {
    let levels = max(left.steps.count, right?.steps.count ?? 0)
    // Above the first difference both neighbours agree, and a turn there leaves the gap.
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
