import Foundation
import Holdfast

extension Command {
  static let watch = Command(
    "watch", taking: "LIST", words: 1...1, "show a list as it changes, and keep it in sync, until Ctrl-C",
    details: "Without a server it shows what changes on this device.", options: [.server]
  ) { call in
    let notebook = try call.open()
    let list = try await notebook.store.read { try $0.list(call.words[0]) }
    let engine = notebook.serverAddress == nil ? nil : try notebook.engine()
    let syncing = Task { await engine?.run() }
    defer { syncing.cancel() }
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
}
