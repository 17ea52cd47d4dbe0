import HoldfastCore

/// Cases of `Position`.
enum PositionVectors {
  static var cases: [JSONValue] { strings + walks + crowded + runs }

  private static func json(_ position: Position?) -> JSONValue {
    position.map { .string($0.string) } ?? .null
  }

  private static func between(
    _ left: Position?, _ right: Position?, _ replica: Position.Replica, _ nonce: UInt64
  ) -> (case: JSONValue, result: Position) {
    let result = Position.between(left, right, replica: replica, nonce: nonce)
    let vector: JSONValue = [
      "left": json(left), "right": json(right), "replica": .string(replica.string),
      "nonce": VectorFiles.hexadecimal(nonce), "between": json(result),
    ]
    return (vector, result)
  }

  private static let replicas = (1...3).map { Position.Replica(random: 0x1234_5678_9ABC * $0) }

  /// Inserts at random places of a list by three replicas, and at its ends.
  private static var walks: [JSONValue] {
    var random = SeededRandom(seed: 22)
    var cases: [JSONValue] = []
    for weight in 0..<4 {
      var list: [Position] = []
      for index in 0..<60 {
        let place =
          switch weight {
          case 0: list.count
          case 1: 0
          case 2: Int.random(in: 0...list.count, using: &random)
          default: (index % 2 == 0 ? list.count / 2 : max(0, list.count / 2 - 1))
          }
        let (vector, result) = between(
          place > 0 ? list[place - 1] : nil, place < list.count ? list[place] : nil,
          replicas[Int.random(in: 0..<(weight == 3 ? 1 : 3), using: &random)], random.next())
        cases.append(vector)
        list.insert(result, at: place)
      }
    }
    return cases
  }

  /// Equal and swapped neighbours, and neighbours so near that what is between them would be too long.
  private static var crowded: [JSONValue] {
    var random = SeededRandom(seed: 23)
    let first = Position.between(nil, nil, replica: replicas[0], nonce: 1)
    let second = Position.between(first, nil, replica: replicas[1], nonce: 2)
    var cases = [
      between(first, first, replicas[2], 3).case, between(second, first, replicas[2], 4).case,
      between(second, first, replicas[0], 5).case,
    ]
    var (left, right) = (first, second)
    for index in 0..<2000 {
      let (vector, result) = between(left, right, replicas[index % 2], random.next())
      let isLong = result.string.utf8.count > 1960
      if index < 12 || isLong { cases.append(vector) }
      if result == left || cases.count > 60 { break }
      if index.isMultiple(of: 2) { left = result } else { right = result }
    }
    return cases
  }

  private static var runs: [JSONValue] {
    [0, 1, 3, 30].map { count in
      let run = Position.run(count: count, between: nil, and: nil, replica: replicas[0], nonce: 7)
      return [
        "run": .integer(Int64(count)), "replica": .string(replicas[0].string),
        "nonce": VectorFiles.hexadecimal(7), "positions": .array(run.map { .string($0.string) }),
      ]
    }
  }

  /// Texts that are positions, and texts that are not.
  private static var strings: [JSONValue] {
    let good = Position.between(nil, nil, replica: replicas[0], nonce: 9).string
    let own = replicas[0].string
    let texts = [
      good, "", "a", own, own + "8", own + "9", own + "90000", good + own + "90000", good + "-" + "90000",
      good + "-8", good + "-8-90000", "-90000", "abc-ef90000", own + "zzzzzzzzz0000", own + "r0000",
      own + "s00000", own + "70000", own + "7z0000", own + "00000000000000", "\u{E9}bcdef90000",
      String(repeating: "x", count: 2001), good + " ",
    ]
    return texts.map { text in
      ["position": .string(text), "valid": .bool((try? Position(validating: text)) != nil)]
    }
  }
}
