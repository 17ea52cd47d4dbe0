/// What one text makes of another: the stretches in which they differ, in order, with at least one equal token between two of them.
///
/// Sources: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy algorithm. Where more differs than it may take on, tokens that
/// each text has once are taken for the same, as long as their order is (B. Cohen's patience diff), and what is between them is compared alike. So the
/// work grows with the length of the texts, and with how much they differ only up to a bound; beyond it a part is one stretch.
struct TokenDifference {
  /// Tokens of the base that others take the place of.
  struct Stretch: Equatable {
    var base: Range<Int>
    var own: Range<Int>
  }

  /// How many tokens of a part may be gone or new before it is divided.
  static let depthLimit = 96
  /// How often parts are divided.
  static let levelLimit = 8
  /// How many steps are taken in all, besides a few for each token. Behind them a part is one stretch.
  static let stepLimit = 20_000

  private(set) var stretches: [Stretch] = []
  private let base: [Int32]
  private let own: [Int32]
  /// Of those that may be taken; a little less than none where they are used up.
  private(set) var stepsLeft: Int
  /// The furthest point on each diagonal, and what it was before each round, one round behind the other.
  private var furthest: [Int32] = []
  private var rounds: [Int32] = []
  /// By the number of a token: where it is in the part of either text; -2 where it is not, -1 where it is more than once.
  private var places: [(base: Int32, own: Int32)]

  init(from base: [Int32], to own: [Int32]) {
    self.base = base
    self.own = own
    stepsLeft = Self.stepLimit + 2 * (base.count + own.count)
    places = Array(repeating: (-2, -2), count: Int(max(base.max() ?? 0, own.max() ?? 0)) + 1)
    compare(0..<base.count, 0..<own.count, level: 0)
    slide()
  }

  // MARK: Finding

  /// Compares a part of the base with the part of the other text that is to take its place.
  private mutating func compare(_ wholeBase: Range<Int>, _ wholeOwn: Range<Int>, level: Int) {
    var (base, own) = (wholeBase, wholeOwn)
    while let left = base.first, let right = own.first, self.base[left] == self.own[right] {
      (base, own) = (base.dropFirst(), own.dropFirst())
    }
    while let left = base.last, let right = own.last, self.base[left] == self.own[right] {
      (base, own) = (base.dropLast(), own.dropLast())
    }
    if base.isEmpty, own.isEmpty { return }
    if !base.isEmpty, !own.isEmpty {
      if search(base, own) { return }
      let anchors = level < Self.levelLimit ? anchors(base, own) : []
      if !anchors.isEmpty {
        var next = (base: base.lowerBound, own: own.lowerBound)
        for anchor in anchors {
          compare(next.base..<anchor.base, next.own..<anchor.own, level: level + 1)
          next = (anchor.base + 1, anchor.own + 1)
        }
        return compare(next.base..<base.upperBound, next.own..<own.upperBound, level: level + 1)
      }
    }
    join(Stretch(base: base, own: own))
  }

  /// Finds the fewest tokens that are gone or new.
  ///
  /// - Returns: false where they are too many; then nothing is noted.
  private mutating func search(_ base: Range<Int>, _ own: Range<Int>) -> Bool {
    let (width, height) = (base.count, own.count)
    let limit = min(Self.depthLimit, width + height)
    let center = limit + 1
    furthest = [Int32](repeating: 0, count: 2 * limit + 3)
    rounds.removeAll(keepingCapacity: true)
    for depth in 0...limit {
      if stepsLeft < 0 { return false }
      stepsLeft -= depth + 1
      rounds += furthest[(center - depth - 1)...(center + depth + 1)]
      for diagonal in stride(from: -depth, through: depth, by: 2) {
        let isDown = Self.isDown(furthest[...], center, diagonal, depth)
        var x = Int(isDown ? furthest[center + diagonal + 1] : furthest[center + diagonal - 1] + 1)
        var y = x - diagonal
        while x < width, y < height, self.base[base.lowerBound + x] == self.own[own.lowerBound + y] {
          (x, y) = (x + 1, y + 1)
          stepsLeft -= 1
        }
        furthest[center + diagonal] = Int32(truncatingIfNeeded: x)
        if x >= width, y >= height {
          trace(depth, (width, height), from: (base.lowerBound, own.lowerBound))
          return true
        }
      }
    }
    return false
  }

  /// The tokens that either part has once, of them the longest row in one order: the same in both.
  private mutating func anchors(_ base: Range<Int>, _ own: Range<Int>) -> [(base: Int, own: Int)] {
    func next(_ place: Int32, _ index: Int) -> Int32 { place == -2 ? Int32(truncatingIfNeeded: index) : -1 }
    for index in base {
      let token = Int(self.base[index])
      places[token].base = next(places[token].base, index)
    }
    for index in own {
      let token = Int(self.own[index])
      places[token].own = next(places[token].own, index)
    }
    defer {
      for index in base { places[Int(self.base[index])] = (-2, -2) }
      for index in own { places[Int(self.own[index])] = (-2, -2) }
    }
    // The longest ascending row: of each length, the one whose end is least.
    var rows: [(base: Int, own: Int)] = []
    var ends: [Int] = []
    var before: [Int] = []
    for index in own {
      let here = places[Int(self.own[index])]
      guard here.own >= 0, here.base >= 0 else { continue }
      let place = Int(here.base)
      var (low, high) = (0, ends.count)
      while low < high {
        let middle = (low + high) / 2
        if rows[ends[middle]].base < place { low = middle + 1 } else { high = middle }
      }
      before.append(low == 0 ? -1 : ends[low - 1])
      if low == ends.count { ends.append(rows.count) } else { ends[low] = rows.count }
      rows.append((place, index))
    }
    var anchors: [(base: Int, own: Int)] = []
    var next = ends.last ?? -1
    while next >= 0 {
      anchors.append(rows[next])
      next = before[next]
    }
    return anchors.reversed()
  }

  /// Whether the best way to a diagonal is a token that is new, not one that is gone.
  private static func isDown(
    _ furthest: ArraySlice<Int32>, _ center: Int, _ diagonal: Int, _ depth: Int
  ) -> Bool {
    diagonal == -depth
      || diagonal != depth && furthest[center + diagonal - 1] < furthest[center + diagonal + 1]
  }

  /// Goes back from the end, which was reached in a round, and notes each step that was no equality.
  private mutating func trace(_ rounds: Int, _ end: (x: Int, y: Int), from start: (base: Int, own: Int)) {
    var (x, y) = end
    var found: [Stretch] = []
    for depth in stride(from: rounds, to: 0, by: -1) {
      // The rounds before this one have 3, 5, 7, ... points.
      let first = depth * depth + 2 * depth
      let before = self.rounds[first..<first + 2 * depth + 3]
      let center = first + depth + 1
      let isDown = Self.isDown(before, center, x - y, depth)
      let from = isDown ? x - y + 1 : x - y - 1
      let previous = (x: Int(before[center + from]), y: Int(before[center + from]) - from)
      let base = start.base + previous.x
      let own = start.own + previous.y
      found.append(
        isDown
          ? Stretch(base: base..<base, own: own..<own + 1) : Stretch(base: base..<base + 1, own: own..<own))
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
