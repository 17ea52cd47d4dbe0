import Foundation
import TemporaryPostgres
import Testing

/// A terminal of its own, which tmux draws, with a program in it.
final class TmuxTerminal {
  private let socket = "holdfast-\(UUID().uuidString)"
  private let server: Process

  /// - Parameters:
  ///   - command: the program with its words.
  ///   - environment: what the program has beside the variables of a terminal.
  init(
    _ command: [String], environment: [String: String] = [:], columns: Int = 80, rows: Int = 24
  ) throws {
    // A server in the background would hold what Foundation waits for after each command.
    server = Self.tmux(socket, ["-D"])
    try server.run()
    try blockUntil {
      try #require(server.isRunning, "tmux has ended with status \(server.terminationStatus)")
      return try run(["list-sessions"]).isServed
    }
    // The pane stays when its program has ended.
    var words = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "status", "off", ";"]
    words += ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)"]
    for (name, value) in environment { words += ["-e", "\(name)=\(value)"] }
    try ask(words + ["--"] + command)
  }

  deinit {
    // Not by a command: one in the foreground does not always end by that. The terminal of the pane is closed either way.
    let path = try? value("socket_path")
    kill(server.processIdentifier, SIGKILL)
    server.waitUntilExit()
    if let path { unlink(path) }
  }

  private static func tmux(_ socket: String, _ words: [String]) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["tmux", "-u", "-L", socket, "-f", "/dev/null"] + words
    process.environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
    ]
    return process
  }

  private func run(_ words: [String]) throws -> ProgramRun {
    let process = Self.tmux(socket, ["-N"] + words)
    let (output, errors) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, errors)
    try process.run()
    return ProgramRun(of: process, output, errors)
  }

  /// Runs a command of tmux; gives what it says.
  @discardableResult
  private func ask(_ words: [String]) throws -> String {
    let ended = try run(words)
    try #require(ended.status == 0, "tmux \(words): \(ended.errors)")
    return ended.output
  }

  /// Presses keys by the names that tmux has for them, such as Enter, Up and C-c.
  func press(_ keys: String...) throws { try ask(["send-keys"] + keys) }

  func type(_ text: String) throws { try ask(["send-keys", "-l", "--", text]) }

  /// Pastes a text, in brackets when the program asks for them.
  func paste(_ text: String) throws {
    try ask(["set-buffer", "--", text, ";", "paste-buffer", "-p", "-r"])
  }

  func resize(columns: Int, rows: Int) throws {
    try ask(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// A value that tmux knows of the pane.
  func value(_ name: String) throws -> String {
    try ask(["display-message", "-p", "#{\(name)}"]).trimmingCharacters(in: .newlines)
  }

  /// The lines that a person sees.
  var lines: [String] {
    get throws {
      try ask(["capture-pane", "-p"]).split(separator: "\n", omittingEmptySubsequences: false).map(
        String.init)
    }
  }

  /// The same with the sequences that give colours.
  var styled: String { get throws { try ask(["capture-pane", "-p", "-e"]) } }

  /// Waits until the screen is as it should be, however long the machine takes.
  ///
  /// - Throws: when the program has ended, and the screen will never be so.
  func wait(until isSo: ([String]) -> Bool, _ location: SourceLocation = #_sourceLocation) async throws {
    try await waitUntil {
      // Both of one moment, by one process.
      let answer = try ask(["display-message", "-p", "#{pane_dead}", ";", "capture-pane", "-p"]).split(
        separator: "\n", omittingEmptySubsequences: false)
      let lines = answer.dropFirst().map(String.init)
      if isSo(lines) { return true }
      try #require(answer.first != "1", "\(lines.joined(separator: "\n"))", sourceLocation: location)
      return false
    }
  }

  func wait(for text: String, _ location: SourceLocation = #_sourceLocation) async throws {
    try await wait(until: { $0.contains { $0.contains(text) } }, location)
  }

  func wait(without text: String, _ location: SourceLocation = #_sourceLocation) async throws {
    try await wait(until: { !$0.contains { $0.contains(text) } }, location)
  }

  /// Waits for the end of the program.
  func waitForEnd() async throws {
    try await waitUntil { try value("pane_dead") == "1" }
  }

  /// The process that the program of the pane has started.
  func child() throws -> pid_t {
    let pane = try value("pane_pid")
    let children = try String(contentsOfFile: "/proc/\(pane)/task/\(pane)/children", encoding: .utf8)
    return try #require(children.split(separator: " ").first.flatMap { pid_t($0) })
  }
}

extension ProgramRun {
  /// Whether a server of tmux has answered, be it that it has no session.
  fileprivate var isServed: Bool {
    !errors.contains("error connecting") && !errors.contains("no server running")
  }
}
