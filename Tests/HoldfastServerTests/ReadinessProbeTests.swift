import HoldfastCore
import HoldfastService
import Synchronization
import Testing

@testable import HoldfastServer

/// What `/readyz` says of a database that hangs or is full.
@Suite struct ReadinessProbeTests {
  private func ask(_ probe: ReadinessProbe) -> ProblemCode? {
    let answered = Door()
    let code = Mutex<ProblemCode?>(nil)
    let isTaken = probe.enqueue(of: .at("192.0.2.1")) { result in
      if case .failure(let problem) = result { code.withLock { $0 = problem.code } }
      answered.open()
    }
    #expect(isTaken)
    answered.wait()
    return code.withLock { $0 }
  }

  @Test("a database that does not answer in time is not ready")
  func hanging() throws {
    let probe = try ReadinessProbe(limit: 10) { _, limit in
      #expect(limit == .seconds(5))
      return nil
    }
    #expect(ask(probe) == .busy)
    probe.stop()
  }

  @Test("a database without space for a write is not ready for a while; other refusals change nothing")
  func full() throws {
    let probe = try ReadinessProbe(limit: 10) { _, _ in .success(.done) }
    #expect(ask(probe) == nil)
    probe.learn(from: .failure(Problem(.zoneFull)))
    #expect(ask(probe) == nil)
    probe.learn(from: .failure(Problem(.storageFull)))
    #expect(ask(probe) == .storageFull)
    probe.stop()
  }
}
