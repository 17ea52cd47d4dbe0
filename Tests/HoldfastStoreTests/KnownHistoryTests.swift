import HoldfastCore
import HoldfastService
import Synchronization
import Testing

/// What a process knows of the history costs the same after each request.
@Suite struct KnownHistoryTests {
  @Test("after a million requests a new epoch is noticed once, and nothing has piled up (I2, I12)")
  func requests() {
    let known = KnownHistory(
      History(epoch: "00000001"), Prover(key: Array(repeating: 1, count: Prover.keySize)))
    let seen = Mutex<[String]>([])
    known.observe { history in seen.withLock { $0.append(history.epoch) } }
    for _ in 0..<1_000_000 { known.see(known.now) }
    known.see(History(epoch: "00000002", previous: "00000001"))
    #expect(seen.withLock { $0 } == ["00000002"])
  }
}
