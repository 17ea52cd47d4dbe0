import HoldfastSystem

/// The randomness of a test: the same for the same seed. Source: SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
final class SeededRandom: Sendable {
  private let state: Locked<UInt64>

  init(seed: UInt64) { state = Locked(seed) }

  /// 64 bits.
  func next() -> UInt64 {
    var word = state.withLock { state in
      state &+= 0x9E37_79B9_7F4A_7C15
      return state
    }
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }

  /// So many bytes.
  func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) } }
}
