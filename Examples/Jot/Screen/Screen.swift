import Holdfast

/// The full-screen app: takes what its feed says, does what the model wants, and draws.
final class Screen {
  private let notebook: Notebook
  private let engine: SyncEngine?
  private let terminal: RawTerminal
  private let feed: ScreenFeed
  private var model: ScreenModel
  private var parser = KeyParser()
  private var renderer = Renderer(.output)
  private var isEnded = false

  /// - Throws: `Failure` when there is no terminal.
  init(_ notebook: Notebook) throws {
    terminal = try RawTerminal()
    self.notebook = notebook
    engine = notebook.serverAddress == nil ? nil : try notebook.engine()
    feed = ScreenFeed(notebook.store)
    let (columns, rows) = RawTerminal.size
    model = ScreenModel(columns: columns, rows: rows, hasServer: engine != nil)
  }

  /// Runs until the person quits, the terminal is closed or a signal comes.
  func run() async throws {
    feed.followTerminal()
    terminal.enter()
    defer {
      terminal.leave()
      Interruption.release()
    }
    feed.followStore(engine)
    draw()
    for await event in feed.events {
      try await take(event)
      if isEnded { break }
      model.scroll()
      draw()
    }
  }

  private func draw() {
    guard terminal.isActive else { return }
    let text = renderer.draw(ScreenView(model: model).frame())
    if !text.isEmpty { Terminal.output.write(text) }
  }

  private func take(_ event: ScreenEvent) async throws {
    switch event {
    case .typed(let bytes):
      for key in parser.take(bytes) { try await take(key) }
      if parser.isInEscape { feed.awaitEscape() }
    case .escapeWaited: for key in parser.endEscape() { try await take(key) }
    case .resized: resize()
    case .stopped: terminal.stop()
    case .continued:
      terminal.enter()
      renderer.reset()
      resize()
    case .ended: isEnded = true
    case .lists(let lists): followingList { $0.show(lists: lists) }
    case .items(let items, let list): model.show(items: items, of: list)
    case .conflicts(let conflicts): model.show(conflicts: conflicts)
    case .quarantine(let sets): model.show(quarantine: sets)
    case .status(let status): model.status = status
    case .said(let sentence): model.say(sentence)
    case .failed(let error): throw error
    }
  }

  private func resize() { (model.columns, model.rows) = RawTerminal.size }

  private func take(_ key: Key) async throws {
    var effects: [ScreenEffect] = []
    followingList { effects = $0.take(key) }
    for effect in effects {
      do { try await perform(effect) } catch {
        model.take(error)
        try await readAgain()
      }
    }
  }

  /// Changes the model; when it shows another list then, its items are followed.
  private func followingList(_ change: (inout ScreenModel) -> Void) {
    let before = model.list?.id
    change(&model)
    guard model.list?.id != before else { return }
    model.forgetItems()
    feed.followItems(of: model.list?.id)
  }

  /// What the screen showed early was not written.
  private func readAgain() async throws {
    guard let list = model.list?.id else { return }
    let items = try await notebook.store.read {
      try $0.fetch(Readable<Item>.self, Item.ofList, [.text(list)])
    }
    model.show(items: items, of: list)
  }

  private func perform(_ effect: ScreenEffect) async throws {
    let store = notebook.store
    switch effect {
    case .quit: isEnded = true
    case .stop: terminal.stop()
    case .sync:
      model.say("Syncing…")
      feed.sync(Syncing(notebook, try engine ?? notebook.engine()))
    case .undo: model.say(try await store.undo().sentence)
    case .edit(let edit): model.take(try await store.write { try $0.perform(edit) })
    case .answer(let conflict, let choice):
      try await store.write { try $0.resolve(conflict, taking: choice) }
    case .resend(let number): try await store.resend(number)
    case .discard(let number): try await store.discard(number)
    }
  }
}

extension Command {
  static let tui = Command(
    "tui", "show the lists full-screen, edit them, and keep them in sync, until q",
    details: "The keys:\n" + KeyHelp.all.map { "  \($0.keys.padded(to: 18))  \($0.does)\n" }.joined(),
    options: [.server]
  ) { call in
    try await Screen(try call.open()).run()
  }
}
