import Foundation
import Testing

@testable import TemporaryPostgres

@Suite("Programs that tests leave in the background")
struct SubprocessTests {
  @Test("hold nothing open that another thread was opening: who waits for its end does not wait for theirs")
  func inheritance() throws {
    // As Foundation opens what it is about to give a program: not marked as this process's alone.
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    defer { close(ends[0]) }
    let lifeline = try Subprocess.pipe()
    let program = try Subprocess(["/bin/cat"], input: lifeline.reading, output: nil)
    close(lifeline.reading)
    close(ends[1])
    var end = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    #expect(poll(&end, 1, 30_000) == 1)
    #expect(kill(program.process, 0) == 0)
    close(lifeline.writing)
    #expect(program.wait() == 0)
  }
}
