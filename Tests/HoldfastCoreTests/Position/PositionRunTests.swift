import HoldfastCore
import Testing

@Suite("Runs of inserts")
struct PositionRunTests {
  enum Direction: CaseIterable { case forward, backward, both }

  /// I7: lists that people edit at the same time stay readable.
  @Test(
    "runs that replicas make at the same place don't interleave", arguments: 1...12 as ClosedRange<UInt64>)
  func nonInterleaving(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let replicas = (0..<4).map { _ in Position.Replica(random: random.next()) }
    for trial in 0..<100 {
      let base = Self.list(of: Int.random(in: 0..<30, using: &random), by: replicas, &random)
      let place = Int.random(in: 0...base.count, using: &random)
      let left = place > 0 ? base[place - 1] : nil
      let right = place < base.count ? base[place] : nil
      let writers = replicas.shuffled(using: &random).prefix(Int.random(in: 2...3, using: &random))
      let direction = Direction.allCases.randomElement(using: &random) ?? .both
      let runs = writers.map { replica in
        Self.run(left, right, by: replica, direction, &random)
      }
      let merged = runs.flatMap { $0 }.sorted()
      #expect(Set(merged).count == merged.count, "seed \(seed), trial \(trial)")
      #expect((base + merged).sorted() == base[..<place] + merged + base[place...])
      for run in runs {
        guard let start = merged.firstIndex(of: run[0]) else { continue }
        if Array(merged[start..<min(start + run.count, merged.count)]) != run {
          Issue.record("seed \(seed), trial \(trial), \(direction): a run of \(run.count) was torn apart")
        }
      }
    }
  }

  /// One replica's inserts into a gap, each at an end of what it has inserted so far; answers them in list order.
  private static func run(
    _ left: Position?, _ right: Position?, by replica: Position.Replica, _ direction: Direction,
    _ random: inout SeededRandom
  ) -> [Position] {
    var run: [Position] = []
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let atEnd = direction == .both ? Bool.random(using: &random) : direction == .forward
      let before = atEnd ? run.last ?? left : left
      let after = atEnd ? right : run.first ?? right
      let position = Position.between(before, after, replica: replica, nonce: random.next())
      run.insert(position, at: atEnd ? run.count : 0)
    }
    return run
  }

  /// A list that grew by inserts of many kinds, partly unseen by each other, and lost some of them.
  private static func list(
    of count: Int, by replicas: [Position.Replica], _ random: inout SeededRandom
  ) -> [Position] {
    var list: [Position] = []
    while list.count < count {
      let place = Int.random(in: 0...list.count, using: &random)
      let left = place > 0 ? list[place - 1] : nil
      let right = place < list.count ? list[place] : nil
      var made: [Position] = []
      for replica in replicas.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)) {
        let direction = Direction.allCases.randomElement(using: &random) ?? .both
        made += run(left, right, by: replica, direction, &random)
      }
      list.insert(contentsOf: made.sorted(), at: place)
      for _ in 0..<made.count / 3 { list.remove(at: Int.random(in: 0..<list.count, using: &random)) }
    }
    return list
  }
}
