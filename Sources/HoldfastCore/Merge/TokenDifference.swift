/// What one text makes of another: the stretches in which they differ, in order, with at least one equal token between two of them.
///
/// Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy algorithm. Its work is bounded: when that is
/// used up, what was found goes to the furthest point reached, and the rest up to the common end is one stretch.
struct TokenDifference {
  /// Tokens of the base that others take the place of.
  struct Stretch: Equatable {
    var base: Range<Int>
    var own: Range<Int>
  }

  /// How many tokens may be gone or new before the rest counts as one stretch.
  static let depthLimit = 1500
  /// How many tokens are compared before that.
  static let stepLimit = 8_000_000

  private(set) var stretches: [Stretch] = []
  private let base: [Int32]
  private let own: [Int32]

  init(from base: [Int32], to own: [Int32]) {
    self.base = base
    self.own = own
    let least = min(base.count, own.count)
    var prefix = 0
    while prefix < least, base[prefix] == own[prefix] { prefix += 1 }
    var suffix = 0
    while suffix < least - prefix, base[base.count - 1 - suffix] == own[own.count - 1 - suffix] {
      suffix += 1
    }
    let end = (base: base.count - suffix, own: own.count - suffix)
    if prefix < end.base || prefix < end.own { search(from: prefix, to: end) }
    slide()
  }

  // MARK: Finding

  private mutating func search(from start: Int, to end: (base: Int, own: Int)) {
    let (width, height) = (end.base - start, end.own - start)
    let limit = min(Self.depthLimit, width + height)
    // The furthest point on each diagonal, and what it was before each round.
    var furthest = [Int32](repeating: 0, count: 2 * limit + 3)
    let center = limit + 1
    var rounds: [[Int32]] = []
    var best = (x: 0, y: 0, depth: 0)
    var steps = 0
    for depth in 0...limit {
      rounds.append(Array(furthest[(center - depth - 1)...(center + depth + 1)]))
      for diagonal in stride(from: -depth, through: depth, by: 2) {
        let isDown = Self.isDown(furthest, center, diagonal, depth)
        var x = Int(isDown ? furthest[center + diagonal + 1] : furthest[center + diagonal - 1] + 1)
        var y = x - diagonal
        while x < width, y < height, base[start + x] == own[start + y] {
          (x, y, steps) = (x + 1, y + 1, steps + 1)
        }
        furthest[center + diagonal] = Int32(truncatingIfNeeded: x)
        if x <= width, y <= height, x + y > best.x + best.y { best = (x, y, depth) }
        if x >= width, y >= height { return trace(rounds, (width, height, depth), start) }
      }
      steps += depth
      if steps > Self.stepLimit { break }
    }
    trace(rounds, best, start)
    join(Stretch(base: (start + best.x)..<end.base, own: (start + best.y)..<end.own))
  }

  /// Whether the best way to a diagonal is a token that is new, not one that is gone.
  private static func isDown(_ furthest: [Int32], _ center: Int, _ diagonal: Int, _ depth: Int) -> Bool {
    diagonal == -depth
      || diagonal != depth && furthest[center + diagonal - 1] < furthest[center + diagonal + 1]
  }

  /// Goes back from a point that was reached, and notes each step that was no equality.
  private mutating func trace(_ rounds: [[Int32]], _ end: (x: Int, y: Int, depth: Int), _ start: Int) {
    var (x, y) = (end.x, end.y)
    var found: [Stretch] = []
    for depth in stride(from: end.depth, to: 0, by: -1) {
      let (before, center) = (rounds[depth], depth + 1)
      let isDown = Self.isDown(before, center, x - y, depth)
      let from = isDown ? x - y + 1 : x - y - 1
      let previous = (x: Int(before[center + from]), y: Int(before[center + from]) - from)
      let step =
        isDown
        ? Stretch(
          base: (start + previous.x)..<(start + previous.x),
          own: (start + previous.y)..<(start + previous.y + 1))
        : Stretch(
          base: (start + previous.x)..<(start + previous.x + 1),
          own: (start + previous.y)..<(start + previous.y))
      found.append(step)
      (x, y) = previous
    }
    for step in found.reversed() { join(step) }
  }

  /// Adds a stretch behind the others, to the last one where nothing equal is between them.
  private mutating func join(_ next: Stretch) {
    guard let last = stretches.last, last.base.upperBound == next.base.lowerBound,
      last.own.upperBound == next.own.lowerBound
    else { return stretches.append(next) }
    stretches[stretches.count - 1] = Stretch(
      base: last.base.lowerBound..<next.base.upperBound, own: last.own.lowerBound..<next.own.upperBound)
  }

  // MARK: One form

  /// Moves what is only new or only gone as far to the end as it can stand, so that the same change has the same place whatever else was
  /// changed beside it.
  private mutating func slide() {
    var done: [Stretch] = []
    for var stretch in stretches.reversed() {
      let limit = done.last?.base.lowerBound ?? base.count
      if stretch.base.isEmpty {
        while stretch.base.upperBound < limit, own[stretch.own.lowerBound] == base[stretch.base.upperBound] {
          stretch = stretch.moved()
        }
      } else if stretch.own.isEmpty {
        while stretch.base.upperBound < limit, base[stretch.base.lowerBound] == base[stretch.base.upperBound]
        {
          stretch = stretch.moved()
        }
      }
      if let next = done.last, stretch.base.upperBound == next.base.lowerBound {
        done[done.count - 1] = Stretch(
          base: stretch.base.lowerBound..<next.base.upperBound,
          own: stretch.own.lowerBound..<next.own.upperBound)
      } else {
        done.append(stretch)
      }
    }
    stretches = done.reversed()
  }
}

extension TokenDifference.Stretch {
  /// The stretch one token later in both.
  fileprivate func moved() -> Self {
    Self(
      base: (base.lowerBound + 1)..<(base.upperBound + 1), own: (own.lowerBound + 1)..<(own.upperBound + 1))
  }
}
