import Foundation
import Holdfast
import HoldfastServer
import Testing

/// The programs that were built beside the tests, run as processes of their own.
enum Programs {
  /// Where the test's own binary is, and the others with it.
  static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  static func path(_ name: String) -> URL { folder.appendingPathComponent(name) }

  /// A new empty folder, which the test removes.
  static func makeFolder() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Runs a program to its end, with these variables as its whole environment.
  static func run(_ name: String, _ words: [String], environment: [String: String] = [:]) throws -> ProgramRun
  {
    let process = Process()
    process.executableURL = path(name)
    process.arguments = words
    process.environment = environment
    let (output, errors) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
    return ProgramRun(of: process, output, errors)
  }
}

/// A run of a program.
struct ProgramRun {
  let status: Int32
  let output: String
  let errors: String

  /// Waits for the end.
  init(of process: Process, _ output: Pipe, _ errors: Pipe) {
    self.output = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    self.errors = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    status = process.terminationStatus
  }
}

/// `holdfast serve` as a process, on a port of its own, that can be killed and started again.
final class ServerProcess {
  let shared: SharedDatabase
  private let schema: URL
  private let options: [String]
  private var process: Process?
  private var output = Pipe()
  /// Takes the server's log, as a pipe that nobody reads would stop it.
  private let log: URL
  private(set) var port = 0

  /// - Parameters:
  ///   - folder: where the schema is written.
  ///   - options: further options of `holdfast serve`.
  ///   - isAwaited: whether to return when it listens; else `waitUntilItListens` is still to be called.
  init(
    folder: URL, schema: SyncSchema, _ shared: SharedDatabase, options: [String] = [], isAwaited: Bool = true
  ) throws {
    self.shared = shared
    self.options = options
    self.schema = folder.appendingPathComponent("holdfast.json")
    log = folder.appendingPathComponent("\(UUID().uuidString).log")
    // Another node may be reading it.
    try Data(schema.json.bytes).write(to: self.schema, options: .atomic)
    try launch()
    if isAwaited { try waitUntilItListens() }
  }

  var address: URL { URL(string: "http://127.0.0.1:\(port)") ?? schema }

  /// Starts the server, on the port it had before, and returns when it listens.
  func start() throws {
    try launch()
    try waitUntilItListens()
  }

  private func launch() throws {
    let process = Process()
    process.executableURL = Programs.path("holdfast")
    process.arguments =
      ["serve", "--schema", schema.path, "--listen", "127.0.0.1:\(port)"] + shared.options + options
    output = Pipe()
    process.standardOutput = output
    try Data().write(to: log)
    process.standardError = try FileHandle(forWritingTo: log)
    try process.run()
    self.process = process
  }

  /// Returns when the server says that it listens.
  func waitUntilItListens() throws {
    var line = ""
    while !line.contains("\n") {
      let data = output.fileHandleForReading.availableData
      if data.isEmpty {
        throw StoreError(.offline, "The server did not start: \(line)\(logged)")
      }
      line += String(decoding: data, as: UTF8.self)
    }
    port = try #require(Int(line.split(separator: ":").last?.split(separator: "\n").first ?? ""))
  }

  /// What it has logged since its start.
  var logged: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

  /// SIGKILL, in the middle of whatever it does.
  func kill() {
    guard let process, process.isRunning else { return }
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Sends SIGKILL, from any thread, and does not wait for the end.
  var killer: @Sendable () -> Void {
    let number = process?.processIdentifier
    return { if let number { Foundation.kill(number, SIGKILL) } }
  }

  /// SIGSTOP: it answers nothing any more, and nobody is told.
  func pause() { if let process { Foundation.kill(process.processIdentifier, SIGSTOP) } }

  /// SIGCONT.
  func resume() { if let process { Foundation.kill(process.processIdentifier, SIGCONT) } }

  /// SIGTERM; gives the exit status.
  func stop() -> Int32 {
    guard let process, process.isRunning else { return -1 }
    process.terminate()
    process.waitUntilExit()
    return process.terminationStatus
  }

  deinit { kill() }

  /// The server's own database, read beside it.
  func database() throws -> SharedDatabase.Reader { try shared.reader() }
}

/// Runs of Jot, which may be killed.
enum JotRun {
  /// Runs Jot on a device's file.
  static func run(_ device: URL, _ server: URL, _ arguments: [String]) throws -> ProgramRun {
    let running = try start(device, server, arguments)
    return running.wait()
  }

  /// Runs Jot, and syncs as long as the server has no time: the machine may be busy, and one that was killed may have left a session in
  /// PostgreSQL that holds its locks. What waits is sent by the next sync.
  static func runUntilServed(_ device: URL, _ server: URL, _ arguments: [String] = ["sync"]) throws
    -> ProgramRun
  {
    var result = try run(device, server, arguments)
    while result.status == 69 { result = try run(device, server, ["sync"]) }
    return result
  }

  static func start(
    _ device: URL, _ server: URL, _ arguments: [String], environment: [String: String] = [:]
  ) throws -> RunningJot {
    let process = Process()
    process.executableURL = Programs.path("jot")
    process.arguments = ["--db", device.path] + arguments
    process.environment = [
      "JOT_SERVER": server.absoluteString, "JOT_PASSWORD": "correct-horse",
      "HOME": device.deletingLastPathComponent().path,
    ].merging(environment) { $1 }
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    return RunningJot(process: process, output: output, errors: errors)
  }
}

/// A run of Jot that has not ended.
struct RunningJot {
  let process: Process
  let output: Pipe
  let errors: Pipe

  func wait() -> ProgramRun { ProgramRun(of: process, output, errors) }

  /// Reads what the process says to the standard error until it says `text`, or ends.
  ///
  /// - Returns: whether it said it.
  @discardableResult
  func waitForError(_ text: String) -> Bool {
    var said = ""
    while !said.contains(text) {
      let data = errors.fileHandleForReading.availableData
      if data.isEmpty { return false }
      said += String(decoding: data, as: UTF8.self)
    }
    return true
  }

  func kill() -> ProgramRun {
    Foundation.kill(process.processIdentifier, SIGKILL)
    return wait()
  }
}
