import HoldfastConcurrency
import Testing

@testable import HoldfastServer

@Suite("The threads of a queue") struct WorkerTests {
  /// A door that one thread waits at until another opens it.
  private final class Door: @unchecked Sendable {
    private let lock = Lock()
    private var isOpen = false

    func open() {
      lock.hold {
        isOpen = true
        lock.broadcast()
      }
    }

    func wait() { lock.hold { while !isOpen { lock.wait() } } }
  }

  @Test("a free thread takes another client's job, however many of a busy client wait (I12)")
  func free() throws {
    let worker = try Worker<@Sendable () -> Void>(limit: 64, batch: 1, threads: 2, running: 1) { jobs, _ in
      for job in jobs { job() }
      return 0
    }
    let (started, finish, served) = (Door(), Door(), Door())
    let busy: @Sendable () -> Void = {
      started.open()
      finish.wait()
    }
    let nothing: @Sendable () -> Void = {}
    let other: @Sendable () -> Void = { served.open() }
    #expect(worker.enqueue(busy, of: .user("busy")))
    started.wait()
    // More than there are threads; none of them may run yet.
    for _ in 0..<8 { #expect(worker.enqueue(nothing, of: .user("busy"))) }
    #expect(worker.enqueue(other, of: .user("other")))
    // Ends only if the second thread wakes up for it.
    served.wait()
    finish.open()
    worker.stop()
  }
}
