import HoldfastCore
import Testing

@Suite("Positions")
struct PositionTests {
  let ana = Position.Replica(random: 1)
  let ben = Position.Replica(random: 2)

  @Test("a new place is strictly between its neighbours, and valid")
  func strictlyBetween() throws {
    let first = Position.between(nil, nil, replica: ana, nonce: 0)
    let last = Position.between(first, nil, replica: ben, nonce: 0)
    let middle = Position.between(first, last, replica: ana, nonce: 0)
    let start = Position.between(nil, first, replica: ben, nonce: 0)
    let order = [start, first, middle, last]
    #expect(order == order.sorted() && Set(order).count == 4)
    for position in order { #expect(try Position(validating: position.string) == position) }
  }

  @Test("neighbours that are equal or the wrong way round give a place right after the left one")
  func badNeighbours() {
    let run = Position.run(count: 3, between: nil, and: nil, replica: ana, nonce: 0)
    for right in run.prefix(2) {
      for replica in [ana, ben] {
        let position = Position.between(run[1], right, replica: replica, nonce: 9)
        #expect(run[1] < position && position < run[2])
      }
    }
  }

  @Test("a run is ascending and inside its gap; none is asked for, none is given")
  func runs() {
    let outer = Position.run(count: 2, between: nil, and: nil, replica: ana, nonce: 0)
    for replica in [ana, ben] {
      let run = Position.run(count: 50, between: outer[0], and: outer[1], replica: replica, nonce: 5)
      let all = [outer[0]] + run + [outer[1]]
      #expect(all == all.sorted() && Set(all).count == 52)
    }
    #expect(Position.run(count: 0, between: nil, and: nil, replica: ana, nonce: 0).isEmpty)
    #expect(Position.run(count: -1, between: nil, and: nil, replica: ana, nonce: 0).isEmpty)
  }

  @Test("the same call with fresh randomness gives another position, at the same place")
  func nonces() {
    let outer = Position.run(count: 2, between: nil, and: nil, replica: ana, nonce: 0)
    let made = (0..<100).map { Position.between(outer[0], outer[1], replica: ben, nonce: $0) }
    #expect(Set(made).count == 100)
    #expect(made.allSatisfy { outer[0] < $0 && $0 < outer[1] })
  }

  @Test("a gap too narrow for the limit gives the left neighbour's own position, never a longer one")
  func narrow() throws {
    var left = Position.between(nil, nil, replica: ana, nonce: 0)
    var right = Position.between(left, nil, replica: ana, nonce: 0)
    var random = SeededRandom(seed: 5)
    var ties = 0
    for step in 0..<4000 where ties < 20 {
      let replica = step % 3 == 0 ? ana : ben
      let middle = Position.between(left, right, replica: replica, nonce: random.next())
      #expect(middle.string.utf8.count <= Position.maximumLength)
      if middle == left {
        ties += 1
      } else {
        #expect(left < middle && middle < right)
        if step.isMultiple(of: 2) { left = middle } else { right = middle }
      }
      _ = try Position(validating: middle.string)
    }
    #expect(ties > 0)
    #expect(left < Position.between(left, nil, replica: ana, nonce: 0))
    #expect(right > Position.between(nil, right, replica: ana, nonce: 0))
  }

  @Test("what no replica can have made is refused")
  func refused() {
    let good = Position.between(nil, nil, replica: ana, nonce: 0).string
    let bad = [
      "", " ", "-", "-0", "é", good + " ", " " + good, good + "-", String(good.dropLast()), good + good,
      good.replacing("0", with: "_"), good + "\u{0}", "000001", "000001U", "000001V", "000001V0", "000001z",
      "000001zzzzzzzzz", "000001zzzzzzzzz00", String(repeating: "0", count: 5000),
    ]
    for text in bad {
      #expect(throws: PositionError.self, "\(text)") { try Position(validating: text) }
    }
  }

  @Test("mutations of positions never trap, and what is accepted works as a neighbour")
  func mutations() {
    var random = SeededRandom(seed: 6)
    var pool = Position.run(count: 20, between: nil, and: nil, replica: ana, nonce: 0)
    let alphabet = Array("-0127UVWXz".utf8)
    var accepted = 0
    for _ in 0..<20_000 {
      var bytes = Array((pool.randomElement(using: &random)?.string ?? "").utf8)
      for _ in 0...1 where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        let byte = alphabet.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = byte
        case 1: bytes.insert(byte, at: place)
        default: bytes.remove(at: place)
        }
      }
      guard let odd = try? Position(validating: String(decoding: bytes, as: UTF8.self)) else { continue }
      accepted += 1
      let other = pool.randomElement(using: &random)
      let position = Position.between(odd, other, replica: ben, nonce: random.next())
      #expect(odd <= position)
      if let other, odd < other, odd != position { #expect(position < other) }
      if (try? Position(validating: position.string)) != position { Issue.record("\(position) isn't valid") }
      pool[Int.random(in: 0..<pool.count, using: &random)] = position
    }
    #expect(accepted > 1000)
  }
}
