import Foundation
import HoldfastSystem
import Testing

@testable import Holdfast

/// Real processes, real files, real SIGKILLs. A process is this program once more, which runs the test `victim` alone.
@Suite("SIGKILL at each step on the disk of a folder")
struct FolderKillTests {
  private static let variable = "HOLDFAST_TEST_FOLDER"
  /// What this process is to do, in one that was started for it.
  private static let order = getenv(variable).map { String(cString: $0) }

  /// When a process is killed: behind a step, or at the end.
  private struct Moment: CustomTestStringConvertible {
    var step: FolderFiles.Step?
    /// Which of the steps of this kind it is, from 1.
    var number = 1

    var testDescription: String { "\(step?.rawValue ?? "end") \(number)" }
  }

  /// Does something on a folder in a process of its own, which is killed.
  private static func kill(_ action: String, on fixture: FolderFixture, _ moment: Moment) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "\(variable)=\(action) \(moment.testDescription) \(fixture.path)",
      URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path,
      "--testing-library", "swift-testing", "--filter", "FolderKillTests/victim",
    ]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    // The tests have few threads: none waits here.
    try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in ended.resume() }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    try #require(process.terminationReason == .uncaughtSignal)
    try #require(process.terminationStatus == SIGKILL)
  }

  private static func die() { Foundation.kill(getpid(), SIGKILL) }

  @Test("(what the other process does)", .enabled(if: order != nil))
  func victim() async throws {
    let words = try #require(Self.order).split(separator: " ", maxSplits: 3).map(String.init)
    let left = Locked(Int(words[2]) ?? 0)
    let folder = try StoreFolder(path: words[3], schema: try #require(Fixture.schema)) { step in
      guard step.rawValue == words[1] else { return }
      let isLast = left.withLock { left in
        left -= 1
        return left == 0
      }
      if isLast { Self.die() }
    }
    switch words[0] {
    case "add": try await folder.add("b", server: URL(string: "https://b.example"))
    case "leave": try await folder.leave(["home", "b"], .discard)
    default:
      try await folder.add("c")
      for name in ["b", "c"] {
        try await #require(folder.store(of: name)).write {
          try $0.insert(List(id: $0.newID(), title: "from another process"))
        }
      }
    }
    Self.die()
  }

  @Test("while a database is added leaves a list that names it; the next launch has its file (I2)")
  func adding() async throws {
    let fixture = try FolderFixture()
    await (try fixture.open()).close()
    try await Self.kill("add", on: fixture, Moment(step: .listed))
    #expect(!FileManager.default.fileExists(atPath: fixture.file("b")))
    let folder = try fixture.open()
    let added = FolderDatabase(name: "b", server: URL(string: "https://b.example"), state: .open)
    #expect(folder.databases.last == added)
    try await #require(folder.store(of: "b")).write { try $0.insert(List(id: $0.newID(), title: "Work")) }
    #expect(try await FolderFixture.titles(folder) == ["Work"])
    await folder.close()
  }

  @Test(
    "while all data leave is gone on with by the next launch: no record, file or session is left (I10)",
    arguments: [
      // With all data; with one file empty, and then gone, before any other; with home's empty, as the last.
      Moment(step: .marked), Moment(step: .emptied), Moment(step: .deleted),
      Moment(step: .emptied, number: 2),
    ])
  private func leaving(_ moment: Moment) async throws {
    let fixture = try FolderFixture()
    await (try await fixture.filled()).close()
    try await Self.kill("leave", on: fixture, moment)
    let marked = try FolderList(path: FolderPath(folder: fixture.path)).read().rows.filter {
      $0.leaving != nil
    }
    #expect(marked.first?.name == "home")
    let again = try fixture.open()
    #expect(again.databases == [FolderDatabase(name: "home", server: nil, state: .open)])
    #expect(try await FolderFixture.titles(again) == [])
    #expect(try await again.home.account() == nil)
    #expect(try await again.home.waitingOperations() == 0)
    let files = try FileManager.default.contentsOfDirectory(atPath: fixture.path)
    #expect(!files.contains { $0.hasPrefix("b.") }, "\(files)")
    await again.close()
  }

  @Test(
    "leaves what another process had written, and live queries here hear of it, in new files too (I2, I7)")
  func twoProcesses() async throws {
    let fixture = try FolderFixture()
    let folder = try await fixture.filled()
    var lists = folder.live(List.where(\.title == "from another process")).makeAsyncIterator()
    #expect(try await lists.next() == [])
    try await Self.kill("write", on: fixture, Moment())
    while let now = try await lists.next() { if now.count == 2 { break } }
    #expect(folder.databases.map(\.name) == ["home", "b", "c"])
    await folder.close()
  }
}
