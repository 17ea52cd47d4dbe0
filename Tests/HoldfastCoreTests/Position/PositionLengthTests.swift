import HoldfastCore
import Testing

/// The figures of docs/POSITIONS.md: each test prints its own.
@Suite("Lengths of positions")
struct PositionLengthTests {
  static let count = 10_000

  @Test("appends by one replica grow with the logarithm")
  func appends() {
    #expect(longest("appends, one replica", replicas: 1) { $0.count } <= 14)
  }

  @Test("prepends by one replica grow with the logarithm")
  func prepends() {
    #expect(longest("prepends, one replica", replicas: 1) { _ in 0 } <= 14)
  }

  @Test("appends by replicas that take turns nest no deeper than there are replicas")
  func turns() {
    #expect(longest("appends, two take turns", replicas: 2) { $0.count } <= 28)
    #expect(longest("appends, five take turns", replicas: 5) { $0.count } <= 60)
    #expect(longest("prepends, two take turns", replicas: 2) { _ in 0 } <= 24)
    #expect(longest("prepends, five take turns", replicas: 5) { _ in 0 } <= 60)
  }

  @Test("inserts after one record, and before one, grow with the logarithm")
  func onePoint() {
    #expect(longest("after one record", replicas: 1) { min(1, $0.count) } <= 16)
    #expect(longest("before one record", replicas: 1) { max(0, $0.count - 1) } <= 20)
    #expect(longest("after one record, five take turns", replicas: 5) { min(1, $0.count) } <= 64)
  }

  @Test("random inserts stay far below the limit")
  func anywhere() {
    var random = SeededRandom(seed: 41)
    #expect(
      longest("random, one replica", replicas: 1) { Int.random(in: 0...$0.count, using: &random) } <= 200)
    #expect(
      longest("random, five replicas", replicas: 5) { Int.random(in: 0...$0.count, using: &random) } <= 400)
  }

  @Test("moving records about at random for ever doesn't make positions longer than the limit")
  func moves() {
    var random = SeededRandom(seed: 42)
    let replica = Position.Replica(random: random.next())
    var list = Position.run(count: 50, between: nil, and: nil, replica: replica, nonce: 0)
    for _ in 0..<Self.count {
      list.remove(at: Int.random(in: 0..<list.count, using: &random))
      insert(into: &list, at: Int.random(in: 0...list.count, using: &random), by: replica, &random)
    }
    report("random moves in a list of 50", list)
    #expect(list.allSatisfy { $0.string.utf8.count <= 400 })
  }

  private func longest(_ name: String, replicas: Int, at place: ([Position]) -> Int) -> Int {
    var random = SeededRandom(seed: 43)
    let replicas = (0..<replicas).map { _ in Position.Replica(random: random.next()) }
    var list: [Position] = []
    for turn in 0..<Self.count {
      insert(into: &list, at: place(list), by: replicas[turn % replicas.count], &random)
    }
    #expect(zip(list, list.dropFirst()).allSatisfy(<))
    report(name, list)
    return list.map(\.string.utf8.count).max() ?? 0
  }

  private func insert(
    into list: inout [Position], at place: Int, by replica: Position.Replica, _ random: inout SeededRandom
  ) {
    let left = place > 0 ? list[place - 1] : nil
    let right = place < list.count ? list[place] : nil
    list.insert(Position.between(left, right, replica: replica, nonce: random.next()), at: place)
  }

  private func report(_ name: String, _ list: [Position]) {
    let lengths = list.map(\.string.utf8.count)
    let mean = Double(lengths.reduce(0, +)) / Double(max(lengths.count, 1))
    print("positions: \(name): mean \((mean * 10).rounded() / 10), longest \(lengths.max() ?? 0) bytes")
  }
}
