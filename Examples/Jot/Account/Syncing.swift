import Holdfast

/// One sync by hand, with its progress on the standard error and what it did on the standard output.
struct Syncing {
  private let notebook: Notebook
  private let engine: SyncEngine

  init(_ notebook: Notebook) throws { self.init(notebook, try notebook.engine()) }

  init(_ notebook: Notebook, _ engine: SyncEngine) {
    self.notebook = notebook
    self.engine = engine
  }

  /// Syncs, and says what was done.
  func run(isJSON: Bool = false) async throws {
    let summary = try await sync()
    if isJSON {
      let json = JSONValue.object([
        .init("sent", .integer(Int64(summary.sent))), .init("received", .integer(Int64(summary.received))),
        .init("quarantined", .integer(Int64(summary.quarantined))),
        .init("awaiting_recovery", .integer(Int64(summary.awaitingRecovery))),
      ])
      return Terminal.output.write(json.formatted() + "\n")
    }
    let state = summary.awaitingRecovery > 0 ? "Synced" : "In sync"
    Terminal.output.write(
      "\(state): \(summary.sent.of("edit")) sent, \(summary.received.of("change")) received.\n")
    if summary.awaitingRecovery > 0 {
      let held =
        "The server was restored, and can't give back \(summary.awaitingRecovery.of("list")) yet; `jot status` shows which."
      Terminal.output.write(Terminal.output.paint(held, .yellow) + "\n")
    }
    if summary.quarantined > 0 {
      let refused = "The server refused \(summary.quarantined.of("change set")); `jot quarantine` shows why."
      Terminal.output.write(Terminal.output.paint(refused, .yellow) + "\n")
    }
  }

  private func sync() async throws -> SyncSummary {
    let states = await engine.states
    let watcher = Task {
      var progress = Progress()
      for await state in states { progress.show(state) }
      progress.clear()
    }
    let result: Result<SyncSummary, any Error>
    do { result = .success(try await engine.sync()) } catch { result = .failure(error) }
    watcher.cancel()
    await watcher.value
    if case .failure(let error as StoreError) = result, error.code == .offline {
      throw Failure(
        .unreachable,
        "No sync for now: \(error.description)\nWhat was written here is kept, and sent by the next sync.")
    }
    if case .success = result { try notebook.rememberServer() }
    return try result.get()
  }
}
