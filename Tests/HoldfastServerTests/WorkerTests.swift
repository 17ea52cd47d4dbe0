import HoldfastConcurrency
import HoldfastSystem
import Testing

@testable import HoldfastServer

@Suite("The threads of a queue") struct WorkerTests {
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

  @Test("of what is dropped nothing runs but what has begun")
  func dropped() throws {
    let worker = try Worker<@Sendable () -> Void>(limit: 64, batch: 1) { jobs, _ in
      for job in jobs { job() }
      return 0
    }
    let (started, finish) = (Door(), Door())
    let ran = Locked(0)
    let count: @Sendable () -> Void = { ran.withLock { $0 += 1 } }
    let slow: @Sendable () -> Void = {
      started.open()
      finish.wait()
      count()
    }
    #expect(worker.enqueue(slow, of: .server))
    started.wait()
    for _ in 0..<8 { #expect(worker.enqueue(count, of: .server)) }
    worker.drop()
    #expect(!worker.enqueue(count, of: .server) && !worker.enqueueBegun(count, of: .server))
    worker.enqueueOwed(count, of: .server)
    finish.open()
    worker.stop()
    worker.enqueueOwed(count, of: .server)
    #expect(ran.withLock { $0 } == 1)
  }

  @Test("a thread takes a group of jobs at once, and leaves half of a large one to the others")
  func group() throws {
    let sizes = Locked<[Int]>([])
    let worker = try Worker<Int>(limit: 400, batch: 64, threads: 2) { jobs, _ in
      sizes.withLock { $0.append(jobs.count) }
      return 0
    }
    worker.group { for job in 0..<12 { #expect(worker.enqueue(job, of: .user("user \(job)"))) } }
    worker.group { for job in 12..<72 { #expect(worker.enqueue(job, of: .user("user \(job)"))) } }
    worker.stop()
    let taken = sizes.withLock { $0 }
    #expect(taken.reduce(0, +) == 72)
    // 12, 30, 16 and 14; or 36, 18, 16 and 2, where both were there before a thread was.
    #expect(taken.count <= 4, "\(taken)")
  }
}
