/// A seeded random generator: SplitMix64.
///
/// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014.
struct Chance: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// One of several independent sequences of a seed.
  init(seed: UInt64, _ stream: UInt64) {
    var mixed = Chance(seed: seed ^ (stream &+ 1) &* 0xD6E8_FEB8_6659_FD93)
    state = mixed.next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// A number from 0 to `count` - 1.
  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(max(count, 1))) }

  /// A number in a range.
  mutating func number(in range: ClosedRange<Int64>) -> Int64 {
    range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
  }

  /// True with a probability of one in `count`; never for 0.
  mutating func one(in count: Int) -> Bool { count > 0 && below(count) == 0 }

  mutating func pick<Element>(_ list: [Element]) -> Element? { list.isEmpty ? nil : list[below(list.count)] }
}

/// A sequence that several parts of the world share.
///
/// @unchecked Sendable: the simulation has one thread.
final class ChanceSource: @unchecked Sendable {
  private var chance: Chance

  init(_ chance: Chance) { self.chance = chance }

  func next() -> UInt64 { chance.next() }
}
