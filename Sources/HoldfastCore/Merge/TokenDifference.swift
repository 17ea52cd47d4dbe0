/// The difference of two texts: the stretches in which they differ, in order, with at least one equal token between two stretches.
///
/// Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy algorithm. If a part differs too much for it,
/// tokens unique in both texts and in the same order become anchors (B. Cohen's patience diff), and the parts between are compared in the
/// same way. The work is linear in the length of the texts, with a bound for their differences. Beyond the bound, a part becomes one
/// stretch.
struct TokenDifference {
  /// Tokens of the base, and the tokens that replace them.
  struct Stretch: Equatable {
    var base: Range<Int>
    var own: Range<Int>
  }

  /// The maximum number of deleted and inserted tokens in a part before it is divided.
  static let depthLimit = 96
  /// The maximum number of nested divisions.
  static let levelLimit = 8
  /// The maximum number of steps in all, besides two for each token. After them, every part becomes one stretch.
  static let stepLimit = 20_000

  private(set) var stretches: [Stretch] = []
  private let base: [Int32]
  private let own: [Int32]
  /// The steps left; slightly negative when they are used up.
  private(set) var stepsLeft: Int
  /// The furthest point on each diagonal, and its state before each round, concatenated.
  private var furthest: [Int32] = []
  private var rounds: [Int32] = []
  /// By token number: its position in the current part of each text; -2 if absent, -1 if repeated.
  private var places: [(base: Int32, own: Int32)]

  init(from base: [Int32], to own: [Int32]) {
    self.base = base
    self.own = own
    stepsLeft = Self.stepLimit + 2 * (base.count + own.count)
    places = Array(repeating: (-2, -2), count: Int(max(base.max() ?? 0, own.max() ?? 0)) + 1)
    compare(0..<base.count, 0..<own.count, level: 0)
    slide()
  }

  // MARK: Comparison

  /// Compares a part of the base with the corresponding part of the other text.
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

  /// Finds the shortest edit script.
  ///
  /// - Returns: false if it exceeds the limit; nothing is recorded then.
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

  /// The anchors: tokens unique in both parts, reduced to the longest sequence that is ascending in both.
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
    // The longest increasing subsequence: for each length, the one with the smallest end.
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

  /// Whether the best path to a diagonal ends with an insertion, not a deletion.
  private static func isDown(
    _ furthest: ArraySlice<Int32>, _ center: Int, _ diagonal: Int, _ depth: Int
  ) -> Bool {
    diagonal == -depth
      || diagonal != depth && furthest[center + diagonal - 1] < furthest[center + diagonal + 1]
  }

  /// Traces the path back from its end, and records each insertion and deletion.
  private mutating func trace(_ rounds: Int, _ end: (x: Int, y: Int), from start: (base: Int, own: Int)) {
    var (x, y) = end
    var found: [Stretch] = []
    for depth in stride(from: rounds, to: 0, by: -1) {
      // The previous rounds have 3, 5, 7, ... points.
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

  /// Appends a stretch, or extends the last one if they are adjacent.
  private mutating func join(_ next: Stretch) {
    guard let last = stretches.last, last.base.upperBound == next.base.lowerBound,
      last.own.upperBound == next.own.lowerBound
    else { return stretches.append(next) }
    stretches[stretches.count - 1] = Stretch(
      base: last.base.lowerBound..<next.base.upperBound, own: last.own.lowerBound..<next.own.upperBound)
  }

  // MARK: Normalization

  /// Moves pure insertions and deletions as far to the end as possible. So the same change has the same place, whatever else changed.
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
  /// The stretch moved one token to the end in both texts.
  fileprivate func moved() -> Self {
    Self(
      base: (base.lowerBound + 1)..<(base.upperBound + 1), own: (own.lowerBound + 1)..<(own.upperBound + 1))
  }
}
