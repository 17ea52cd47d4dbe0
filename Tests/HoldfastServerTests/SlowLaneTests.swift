import HoldfastConcurrency
import HoldfastCore
import HoldfastService
import Synchronization
import Testing

@testable import HoldfastServer

/// Writes that locks of others block, and those behind them.
@Suite struct SlowLaneTests {
  private typealias Write = RequestDispatcher.Write

  private func write(
    of user: String, _ finish: @escaping @Sendable (Result<Outcome, Problem>) -> Void
  ) -> Write { Write(command: .probe, client: .user(user), finish: finish) }

  @Test("a write that nothing blocks is done while many others stay blocked (I12)")
  func free() throws {
    let (queued, done) = (Door(), Door())
    let ended = Mutex(0)
    let lane = try SlowLane(limit: 1000) { write, _, turn, putOff in
      guard case .user("free") = write.client else {
        queued.wait()
        return turn.isLast ? write.finish(.failure(RequestDispatcher.busy)) : putOff(write)
      }
      #expect(ended.withLock { $0 } == 0)
      write.finish(.success(.done))
    }
    for number in 0..<16 {
      #expect(lane.enqueue(write(of: "blocked \(number)") { _ in ended.withLock { $0 += 1 } }))
    }
    #expect(lane.enqueue(write(of: "free") { _ in done.open() }))
    queued.open()
    done.wait()
    lane.stop()
    #expect(ended.withLock { $0 } == 16)
  }

  @Test("a write that stays blocked is answered, after a bounded number of turns (I11)")
  func bounded() throws {
    let turns = Mutex(0)
    let done = Door()
    let lane = try SlowLane(limit: 1000) { write, _, turn, putOff in
      turns.withLock { $0 += 1 }
      if turn.isLast { write.finish(.failure(RequestDispatcher.busy)) } else { putOff(write) }
    }
    #expect(lane.enqueue(write(of: "blocked") { _ in done.open() }))
    done.wait()
    lane.stop()
    #expect(turns.withLock { $0 } <= 100)
  }
}
