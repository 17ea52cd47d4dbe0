import Foundation
import Holdfast

extension Command {
  static let watch = Command(
    "watch", taking: "LIST", words: 1...1, "show a list as it changes, and keep it in sync, until Ctrl-C",
    details: """
      Without a server it shows what changes on this device. What keeps it from the server is said on the standard
      error.
      """, options: [.server]
  ) { call in
    let notebook = try call.open()
    let list = try await notebook.store.read { try $0.list(call.words[0]) }
    let engine = notebook.serverAddress == nil ? nil : try notebook.engine()
    let syncing = Task { await engine?.run() }
    let saying = Task { if let engine { await say(engine.statuses) } }
    defer {
      syncing.cancel()
      saying.cancel()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await Interruption.wait() }
      group.addTask { try await show(list, notebook.store) }
      // Whichever ends first, by Ctrl-C or a failure, ends the other.
      _ = try await group.next()
      group.cancelAll()
    }
  }

  private static func show(_ list: List, _ store: Store) async throws {
    for try await items in store.live(Readable<Item>.self, Item.ofList, [.text(list.id)]) {
      let clear = Terminal.output.isInteractive ? "\u{1B}[H\u{1B}[2J" : ""
      Terminal.output.write(clear + ItemsText.text(list.title, items.readable(), .output) + "\n")
    }
  }

  /// Says what a person must see to, each time that it becomes something else.
  private static func say(_ statuses: AsyncStream<SyncStatus>) async {
    var last: String?
    for await status in statuses {
      let obstacle = status.obstacle
      if let obstacle, obstacle != last { Terminal.error.say("jot: \(obstacle)") }
      // While it tries again it is not known whether it goes on.
      if obstacle != nil || status.state == .idle { last = obstacle }
    }
  }
}

extension SyncStatus {
  /// What keeps the device from the server, or waits for a person; nil for nothing.
  fileprivate var obstacle: String? {
    switch state {
    case .signedOut: "Nobody is signed in: `jot sign-in NAME` goes on. Nothing on this device is lost."
    case .offline(let reason): "No sync for now: \(reason)"
    default:
      quarantined > 0
        ? "The server refused \(quarantined.of("change set")): `jot quarantine` shows why."
        : questions > 0 ? "\(questions.of("question")) to be answered: `jot conflicts` shows them." : nil
    }
  }
}
