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
    let summary = try await syncWithProgress()
    if isJSON {
      let json = JSONValue.object([
        .init("sent", .integer(Int64(summary.sent))), .init("received", .integer(Int64(summary.received))),
        .init("quarantined", .integer(Int64(summary.quarantined))),
        .init("awaiting_recovery", .integer(Int64(summary.awaitingRecovery))),
        .init("waiting_zones", .integer(Int64(summary.waitingZones))),
      ])
      return Terminal.output.write(json.formatted() + "\n")
    }
    Terminal.output.write(summary.sentence + "\n")
    if summary.awaitingRecovery > 0 {
      let held =
        "The server was restored, and can't give back \(summary.awaitingRecovery.of("list")) yet; `jot status` shows which."
      Terminal.output.write(Terminal.output.paint(held, .yellow) + "\n")
    }
    if summary.waitingZones > 0 {
      let later =
        "The server wants \(summary.waitingZones.of("list")) fetched again, and they were a moment ago: later. `jot status` shows when."
      Terminal.output.write(Terminal.output.paint(later, .yellow) + "\n")
    }
    if summary.quarantined > 0 {
      let refused = "The server refused \(summary.quarantined.of("change set")); `jot quarantine` shows why."
      Terminal.output.write(Terminal.output.paint(refused, .yellow) + "\n")
    }
  }

  /// Syncs, and shows how far it is.
  private func syncWithProgress() async throws -> SyncSummary {
    let states = await engine.states
    let watcher = Task {
      var progress = Progress()
      for await state in states { progress.show(state) }
      progress.clear()
    }
    let result: Result<SyncSummary, any Error>
    do { result = .success(try await sync()) } catch { result = .failure(error) }
    watcher.cancel()
    await watcher.value
    return try result.get()
  }

  /// Syncs, and says nothing.
  func sync() async throws -> SyncSummary {
    do {
      let summary = try await engine.sync()
      try notebook.rememberServer()
      return summary
    } catch let error as StoreError where error.code == .offline {
      throw Failure(
        .unreachable,
        "No sync for now: \(error.description)\nWhat was written here is kept, and sent by the next sync.")
    }
  }
}

extension SyncSummary {
  /// The sync in words.
  var sentence: String {
    let state = awaitingRecovery + waitingZones > 0 ? "Synced" : "In sync"
    return "\(state): \(sent.of("edit")) sent, \(received.of("change")) received."
  }
}
