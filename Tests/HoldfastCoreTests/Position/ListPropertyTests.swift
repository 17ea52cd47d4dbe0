import HoldfastCore
import Testing

@Suite("Lists under random operations")
struct ListPropertyTests {
  private static func steps(_ count: Int, seed: UInt64) -> [ListStep] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in ListStep(&random, devices: 5) }
  }

  /// Runs steps; on a failure finds few that fail as well, and names them.
  private func check(_ steps: [ListStep], seed: UInt64) -> ListSimulation {
    func world() -> ListSimulation {
      ListSimulation(devices: 5, seed: seed) {
        Position.run(count: $0, between: $1, and: $2, replica: $3, nonce: $4)
      }
    }
    var simulation = world()
    if let failure = simulation.run(steps) {
      let few = ListSimulation.shrink(steps) {
        var again = world()
        return again.run($0) != nil
      }
      Issue.record(
        "seed \(seed): \(failure); \(few.count) steps: \(few.map(\.description).joined(separator: "; "))")
    }
    return simulation
  }

  @Test(
    "100,000 operations of five offline devices end in one order everywhere, no record twice (I7)"
  )
  func converge() {
    let simulation = check(Self.steps(100_000, seed: 71), seed: 71)
    print(
      "positions: 100,000 operations, five devices, \(simulation.syncs) syncs: \(simulation.count) records, \(simulation.wholeBlocks) blocks that nobody touched whole, \(simulation.tornBlocks) torn, longest \(simulation.longest) bytes"
    )
    #expect(simulation.count > 50)
  }

  @Test("a wrong rule is found, and shrunk to a few steps that show it")
  func shrinking() {
    // Passes over the right neighbour.
    func fails(_ steps: [ListStep]) -> Bool {
      var simulation = ListSimulation(devices: 5, seed: 72) {
        Position.run(count: $0, between: $1, and: nil, replica: $3, nonce: $4 ^ UInt64($2 == nil ? 0 : 1))
      }
      return simulation.run(steps) != nil
    }
    let steps = Self.steps(1000, seed: 72)
    #expect(fails(steps))
    let few = ListSimulation.shrink(steps, fails: fails)
    #expect(fails(few) && few.count <= 4, "\(few)")
  }

  @Test(
    "a list that one device renews while others insert offline has one order everywhere, with all records (I7)"
  )
  func reason() {
    var random = SeededRandom(seed: 73)
    let mixture = Self.steps(6000, seed: 73)
    // A reason in every hundred steps, by whoever.
    let steps = mixture.enumerated().map { number, step in
      number % 100 == 50 ? ListStep(.renew, &random, devices: 5) : step
    }
    #expect(check(steps, seed: 73).count > 50)
  }
}
