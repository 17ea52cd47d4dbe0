import Foundation
import Holdfast

/// One call of a command: what was said, and what commands do with it.
struct Invocation: Sendable {
  let words: [String]
  let arguments: Arguments

  var isJSON: Bool { arguments.has(.json) }

  /// Opens the database of this device.
  func open() throws -> Notebook {
    let environment = ProcessInfo.processInfo.environment
    let path = arguments[.database] ?? environment["JOT_DB"] ?? NSHomeDirectory() + "/.jot.db"
    let seed = arguments[.seed] ?? environment["JOT_SEED"]
    let notebook = try Notebook(
      path: path, server: arguments[.server] ?? environment["JOT_SERVER"],
      seed: seed.map { URL(filePath: $0) })
    if case .ignored(let reason) = notebook.store.seeding {
      Terminal.error.write("The seed is not used: \(reason.shown)\n")
    }
    return notebook
  }

  /// Prints something that was read: JSON when asked for, else the text for people.
  func show(_ value: JSONValue, _ text: (Terminal) -> String) {
    Terminal.output.write(isJSON ? value.formatted() + "\n" : text(.output))
  }

  /// Makes one edit, which is one change set, says what was done, and syncs when asked for.
  func edit(_ body: @escaping @Sendable (Database) throws -> String) async throws {
    let notebook = try open()
    let said = try await notebook.store.write(body)
    Terminal.output.say(said)
    try await syncIfAsked(notebook)
  }

  /// Syncs after an edit that came with --sync.
  func syncIfAsked(_ notebook: Notebook) async throws {
    if arguments.has(.sync) { try await Syncing(notebook).run() }
  }
}
