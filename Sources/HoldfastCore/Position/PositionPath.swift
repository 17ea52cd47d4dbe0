/// A position parsed into its steps from the root of the tree.
struct PositionPath {
  /// A step: a waypoint of a replica under the previous step, and a number in it.
  struct Step {
    let author: ArraySlice<UInt8>
    /// The start of the number. The bytes before it name the waypoint.
    let numberStart: Int
    /// Odd: a place, and its descendants follow it. Even: the descendants precede the place with the next higher number.
    let number: Int64
    let end: Int

    var isPlace: Bool { !number.isMultiple(of: 2) }
  }

  static let sameAuthor = UInt8(ascii: "-")
  static let tieLength = 4

  let bytes: [UInt8]
  private(set) var steps: [Step] = []

  /// The root, which is before and after every position.
  init() { bytes = [] }

  init(_ position: Position) {
    // A Position was validated when it was made, so parsing never fails.
    self = (try? PositionPath(parsing: Array(position.string.utf8))) ?? PositionPath()
  }

  init(parsing bytes: [UInt8]) throws(PositionError) {
    guard !bytes.isEmpty else { throw PositionError(.empty, offset: 0) }
    self.bytes = bytes
    var place = 0
    while place < bytes.count {
      let step = try step(at: place)
      place = step.end
      steps.append(step)
    }
    guard let last = steps.last, last.isPlace else { throw PositionError(.incomplete, offset: place) }
  }

  private func step(at start: Int) throws(PositionError) -> Step {
    var place = start
    let author: ArraySlice<UInt8>
    if bytes[place] == Self.sameAuthor, let parent = steps.last {
      author = parent.author
      place += 1
    } else {
      author = try digits(Position.Replica.length, at: &place)
      if author == steps.last?.author { throw PositionError(.ownReplicaSpelledOut, offset: start) }
    }
    let numberStart = place
    guard let number = PositionNumber.read(bytes, at: &place),
      (-PositionNumber.limit - 1...PositionNumber.limit).contains(number)
    else { throw PositionError(place < bytes.count ? .malformed : .incomplete, offset: numberStart) }
    if !number.isMultiple(of: 2) { _ = try digits(Self.tieLength, at: &place) }
    return Step(author: author, numberStart: numberStart, number: number, end: place)
  }

  private func digits(_ count: Int, at place: inout Int) throws(PositionError) -> ArraySlice<UInt8> {
    let start = place
    while place < start + count {
      guard place < bytes.count else { throw PositionError(.incomplete, offset: place) }
      guard PositionDigits.value(bytes[place]) != nil else { throw PositionError(.malformed, offset: place) }
      place += 1
    }
    return bytes[start..<place]
  }

  /// This path up to the waypoint of the step at `level`, followed by another number in that waypoint.
  func stem(_ level: Int, _ number: Int64) -> [UInt8] {
    var stem = Array(bytes[..<steps[level].numberStart])
    PositionNumber.append(number, to: &stem)
    return stem
  }

  /// The number of common steps of both paths, from the root.
  func sharedSteps(with other: PositionPath) -> Int {
    var level = 0
    while level < steps.count, level < other.steps.count, steps[level].end == other.steps[level].end {
      let start = level == 0 ? 0 : steps[level - 1].end
      guard bytes[start..<steps[level].end] == other.bytes[start..<steps[level].end] else { break }
      level += 1
    }
    return level
  }
}
