import Foundation
import Testing

@testable import HoldfastSimulation

/// The program itself, as its hashes and SQLite's randomness are those of a whole process.
@Suite("A seed of the simulation")
struct ReplayTests {
  private static func run(_ arguments: String...) throws -> (output: String, status: Int32) {
    let process = Process()
    process.executableURL = Bundle.main.bundleURL.appendingPathComponent("simulate")
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (String(decoding: output, as: UTF8.self), process.terminationStatus)
  }

  @Test("decides everything: two runs say the same to the last byte", arguments: [2, 5, 11])
  func replay(seed: Int) throws {
    let first = try Self.run("--seed", "\(seed)", "--steps", "120", "--verbose")
    let second = try Self.run("--seed", "\(seed)", "--steps", "120", "--verbose")
    #expect(first.status == 0, "\(first.output.suffix(2000))")
    #expect(first.output.count > 2000)
    #expect(first.output == second.output)
  }

  @Test("leaves the other commands as they are when some are left out")
  func keep() throws {
    let all = Plan(seed: 9, steps: 50).commands.map(\.description)
    let longer = Plan(seed: 9, steps: 80).commands.map(\.description)
    #expect(Array(longer.prefix(50)) == all)
    let kept = try Self.run("--seed", "9", "--steps", "50", "--keep", "3,20", "--verbose")
    let said = kept.output.split(separator: "\n").compactMap { line in
      line.split(separator: " # ", maxSplits: 1).dropFirst().first.map(String.init)
    }
    #expect(said.filter { $0 != "heal" } == [all[3], all[20]])
  }

  @Test("is refused with the usage when the command line is wrong")
  func usage() throws {
    let wrong = try Self.run("--seed", "many")
    #expect(wrong.status == 2)
    #expect(wrong.output.contains("--seed takes a number"))
  }
}
