import Foundation
import HoldfastCore
import Testing

@testable import HoldfastServer

/// The log of a server, and who reads it, or does not.
@Suite struct LogQueueTests {
  /// A pipe that stays open, as the thread of a queue does not end.
  private static func pipe() -> Pipe { Unmanaged.passRetained(Pipe()).takeUnretainedValue() }

  @Test(
    "a pipe that nobody reads stops nobody; lines that find no room are counted, and the others come whole (I12)"
  )
  func unread() throws {
    let pipe = Self.pipe()
    let queue = LogQueue(descriptor: pipe.fileHandleForWriting.fileDescriptor) { 0 }
    let line = "{\"line\":\"" + String(repeating: "x", count: 1000) + "\"}"
    // More than the queue, what its thread has in hand, and the pipe have room for.
    let count = 4 * LogQueue.limit / line.utf8.count
    for _ in 0..<count { queue.write(line) }
    let reader = pipe.fileHandleForReading
    var read = Data()
    // It says so as soon as it goes on.
    while read.range(of: Data("were dropped".utf8)) == nil {
      queue.write(line)
      read += reader.availableData
    }
    while read.last != UInt8(ascii: "\n") { read += reader.availableData }
    let lines = read.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    let notice = try #require(lines.first { $0.contains("were dropped") })
    let message = try #require(try JSONValue(parsing: notice)["message"]?.stringValue)
    let dropped = try #require(Int(message.prefix { $0 != " " }))
    #expect(dropped > 0)
    // While the reader was slow, it may have been full more than once.
    #expect(lines.allSatisfy { $0 == line || $0.contains("were dropped") })
  }

  @Test("a flush writes what waits; of a pipe that nobody reads it lets go (I12)")
  func flushed() throws {
    let pipe = Self.pipe()
    let queue = LogQueue(descriptor: pipe.fileHandleForWriting.fileDescriptor) { 0 }
    queue.write("one")
    queue.write("two")
    queue.flush(within: .seconds(600))
    #expect(pipe.fileHandleForReading.availableData == Data("one\ntwo\n".utf8))
    for _ in 0..<100 { queue.write(String(repeating: "x", count: 1000)) }
    queue.flush(within: .zero)
  }

  @Test("lines for a descriptor that is closed are left out")
  func closed() throws {
    let queue = LogQueue(descriptor: -1) { 0 }
    queue.write("one")
    queue.flush(within: .seconds(600))
  }
}
