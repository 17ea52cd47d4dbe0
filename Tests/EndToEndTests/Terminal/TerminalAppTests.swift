import Foundation
import Holdfast
import TemporaryPostgres
import Testing

/// Jot full-screen, in a real terminal, with a real server.
@Suite("Jot in a full-screen terminal", .timeLimit(.minutes(5)))
struct TerminalAppTests {
  /// A folder with a device's file, or two, of one user.
  private final class Home {
    let folder: URL
    init() throws { folder = try Programs.makeFolder() }
    deinit { try? FileManager.default.removeItem(at: folder) }

    func file(_ name: String) -> URL { folder.appendingPathComponent("\(name).db") }

    /// Runs a command on a device's file, without a server.
    @discardableResult
    func jot(_ words: String..., device: String = "phone") throws -> String {
      let run = try Programs.run(
        "jot", ["--db", file(device).path] + words, environment: ["HOME": folder.path])
      try #require(run.status == 0, "\(run.errors)")
      return run.output
    }

    func tui(columns: Int = 80, rows: Int = 24, environment: [String: String] = [:]) throws -> TmuxTerminal {
      try TmuxTerminal(
        [Programs.path("jot").path, "--db", file("phone").path, "tui"],
        environment: ["HOME": folder.path].merging(environment) { $1 }, columns: columns, rows: rows)
    }
  }

  /// A server, and two devices of one user who has a list.
  private struct Family {
    let scene: Scene
    let phone: URL
    let laptop: URL

    init() throws {
      scene = try Scene(schema: Scene.jotSchema())
      phone = scene.folder.appendingPathComponent("phone.db")
      laptop = scene.folder.appendingPathComponent("laptop.db")
      try jot(phone, "sign-up", "ann")
      try jot(phone, "add", "Home", "Milk", "Bread", "--sync")
      try jot(laptop, "sign-in", "ann")
    }

    @discardableResult
    func jot(_ device: URL, _ words: String...) throws -> String {
      let run = try JotRun.runUntilServed(device, scene.server.address, words)
      try #require(run.status == 0, "\(run.errors)")
      return run.output
    }

    func tui() throws -> TmuxTerminal {
      try TmuxTerminal(
        [Programs.path("jot").path, "--db", phone.path, "tui"],
        environment: ["HOME": scene.folder.path, "JOT_SERVER": scene.server.address.absoluteString])
    }
  }

  @Test("items are added, renamed, checked off, counted, moved, removed, and an undo takes it back (I2)")
  func edits() async throws {
    let home = try Home()
    let terminal = try home.tui()
    try await terminal.wait(for: "None yet")
    try terminal.press("A")
    try terminal.type("Shopping")
    try terminal.press("Enter")
    try await terminal.wait(for: "a adds an item")
    for title in ["Milk", "Bread", "Jam"] {
      try terminal.press("a")
      try await terminal.wait(for: "New item:")
      try terminal.type(title)
      try terminal.press("Enter")
      try await terminal.wait(for: "> [ ] \(title)")
    }
    try terminal.press("Space", "+", "+")
    try await terminal.wait(for: "> [x] Jam  x3")
    try terminal.press("K", "K")
    try await terminal.wait(until: { $0[1].contains("> [x] Jam") && $0[2].contains("Milk") })
    try terminal.press("e", "Home")
    try terminal.type("Plum ")
    try terminal.press("Enter")
    try await terminal.wait(for: "Plum Jam")
    try terminal.press("n")
    try terminal.type("two jars")
    try terminal.press("Enter", "t")
    try terminal.type("sweet, red")
    try terminal.press("Enter")
    try await terminal.wait(for: "> [x] Plum Jam  x3  #red  #sweet  two jars")
    try terminal.press("j", "d")
    try await terminal.wait(for: "Remove Milk? y/n")
    try terminal.press("n", "d", "y")
    try await terminal.wait(without: "Milk")
    try terminal.press("u")
    try await terminal.wait(for: "Undone: ")
    try await terminal.wait(for: "[ ] Milk")
    try terminal.press("q")
    try await terminal.waitForEnd()
    let items = try home.jot("items", "Shopping")
    #expect(items.contains("1 of 3 done"))
    #expect(items.contains("[x] Plum Jam  x3  #red  #sweet  two jars"))
  }

  @Test("an edit of another device is shown without a key, and the cursor stays on its item (I7)")
  func live() async throws {
    let family = try Family()
    let terminal = try family.tui()
    try await terminal.wait(for: "Bread")
    try terminal.press("Tab", "j")
    try await terminal.wait(for: "> [ ] Bread")
    try family.jot(family.laptop, "add", "Home", "Butter", "--first", "--sync")
    try await terminal.wait(until: { $0[1].contains("Butter") && $0[3].contains("> [ ] Bread") })
    try terminal.press("Space")
    try await terminal.wait(for: "[x] Bread")
    try await terminal.wait(for: "Synced")
    try family.jot(family.laptop, "sync")
    #expect(try family.jot(family.laptop, "items", "Home").contains("[x] Bread"))
  }

  @Test(
    "what is typed stays when the record changes under it: notes are merged, and a title is asked about (I3)")
  func editMeanwhile() async throws {
    let family = try Family()
    try family.jot(family.phone, "note", "Home", "Milk", "one fresh bottle", "--sync")
    try family.jot(family.laptop, "sync")
    let terminal = try family.tui()
    try await terminal.wait(for: "one fresh bottle")
    try terminal.press("Tab", "n")
    try terminal.type(" please")
    try await terminal.wait(for: "Note: one fresh bottle please")
    try family.jot(family.laptop, "note", "Home", "Milk", "two fresh bottle", "--sync")
    try await terminal.wait(for: "two fresh")
    try terminal.press("Enter")
    try await terminal.wait(for: "two fresh bottle please")
    try terminal.press("e")
    try terminal.type(" and tea")
    try family.jot(family.laptop, "rename", "Home", "Milk", "Oat milk")
    try family.jot(family.laptop, "add", "Home", "Later", "--sync")
    try await terminal.wait(for: "Later")
    try await terminal.wait(for: "Milk and tea")
    try terminal.press("Enter")
    try await terminal.wait(for: "The title is now Oat milk. Replace it by Milk and tea?")
    try terminal.press("y")
    try await terminal.wait(for: "> [ ] Milk and tea")
    try await terminal.wait(for: "Synced")
    try family.jot(family.laptop, "sync")
    let items = try family.jot(family.laptop, "items", "Home")
    #expect(items.contains("Milk and tea") && items.contains("two fresh bottle please"))
  }

  @Test("without the server edits wait and are counted, and when it is back they are sent (I3)")
  func offline() async throws {
    let family = try Family()
    let terminal = try family.tui()
    try await terminal.wait(for: "Synced")
    family.scene.server.kill()
    try terminal.press("Tab", "Space")
    try await terminal.wait(for: "Offline: 1 change waits")
    try terminal.press("j", "Space")
    try await terminal.wait(for: "Offline: 2 changes wait")
    try family.scene.server.start()
    try terminal.press("s")
    try await terminal.wait(for: "Synced")
    try family.jot(family.laptop, "sync")
    #expect(try family.jot(family.laptop, "items", "Home").contains("2 of 2 done"))
  }

  @Test("a conflict is shown with both values, and the other one is chosen (I3)")
  func conflict() async throws {
    let family = try Family()
    try family.jot(family.laptop, "rename", "Home", "Milk", "Oat milk")
    try family.jot(family.phone, "rename", "Home", "Milk", "Soy milk", "--sync")
    try family.jot(family.laptop, "sync")
    let terminal = try family.tui()
    try await terminal.wait(for: "1 conflict: c")
    try terminal.press("c")
    try await terminal.wait(until: { lines in
      lines.contains { $0.contains("1  Soy milk") } && lines.contains { $0.contains("2  Oat milk") }
    })
    try terminal.press("2")
    try await terminal.wait(for: "No conflict waits.")
    try terminal.press("Escape")
    try await terminal.wait(for: "[ ] Oat milk")
    try await terminal.wait(for: "Synced")
  }

  @Test("an edit that the server refused is shown with its reason, is sent again, and is discarded (I3, I12)")
  func quarantine() async throws {
    let family = try Family()
    let terminal = try family.tui()
    try family.jot(family.phone, "share", "Home", "nobody-of-this-name", "--sync")
    try await terminal.wait(for: "1 refusal: Q")
    try terminal.press("Q")
    try await terminal.wait(for: "create members")
    try terminal.press("r")
    try await terminal.wait(for: "> 2  ")
    try terminal.press("d")
    try await terminal.wait(for: "Discard 1 change set for good? y/n")
    try terminal.press("y")
    try await terminal.wait(for: "Nothing was refused.")
  }

  @Test("a title with escape sequences, control characters and wide ones only is read, and moves no column")
  func hostile() async throws {
    let home = try Home()
    try home.jot("new", "Home")
    try home.jot("new", "牛奶 e\u{301}\u{301} 👩‍👩‍👧 ❤️")
    try home.jot("add", "Home", "a\u{1B}[2Jb\u{1B}]0;owned\u{7}c\u{9B}31md\u{202E}e\r\nf")
    let terminal = try home.tui(columns: 110)
    try await terminal.wait(for: "[ ] a")
    let lines = try terminal.lines
    #expect(lines[1].contains(#"a\u{1B}[2Jb\u{1B}]0;owned\u{7}c\u{9B}31md\u{202E}"#))
    #expect(try terminal.value("pane_title") != "owned")
    // The line between the panes is in the same column of every row.
    try terminal.press("Tab")
    try await terminal.wait(for: "> [ ] a")
    try terminal.press("Tab", "j")
    try await terminal.wait(for: "> 牛奶")
    let columns = try Set(terminal.lines.prefix(21).map { Self.column(of: "│", in: $0) })
    #expect(columns == [28])
  }

  /// The column of a character in a line of tmux, which draws these few with two columns.
  private static func column(of character: Character, in line: String) -> Int {
    let wide: Set<Character> = ["牛", "奶", "👩‍👩‍👧"]
    return line.prefix { $0 != character }.reduce(0) { $0 + (wide.contains($1) ? 2 : 1) }
  }

  @Test("the screen follows the size of the terminal, down to one pane, and back")
  func resized() async throws {
    let home = try Home()
    try home.jot("add", "Home", "Milk")
    let terminal = try home.tui()
    try await terminal.wait(for: "│")
    try terminal.resize(columns: 40, rows: 12)
    try await terminal.wait(until: { !$0.contains { $0.contains("│") } && $0[11].contains("? help") })
    try terminal.press("Enter")
    try await terminal.wait(for: "> [ ] Milk")
    for (columns, rows) in [(1, 1), (2, 2), (5, 3), (300, 100)] {
      try terminal.resize(columns: columns, rows: rows)
    }
    try terminal.resize(columns: 80, rows: 24)
    try await terminal.wait(until: { $0[23].contains("? help") && $0[1].contains("│> [ ] Milk") })
  }

  /// A shell that says whether the terminal is as it was before the program.
  private func restoring(_ home: Home) throws -> TmuxTerminal {
    let script = """
      before=$(stty -g); "$0" "$@"; code=$?
      if test "$before" = "$(stty -g)"; then echo "as before, $code"; else echo "changed, $code"; fi
      cat
      """
    return try TmuxTerminal(
      ["/bin/sh", "-c", script, Programs.path("jot").path, "--db", home.file("phone").path, "tui"],
      environment: ["HOME": home.folder.path])
  }

  @Test(
    "the terminal is as before after q, Ctrl-C and signals", arguments: ["q", "C-c", "TERM", "INT", "HUP"])
  func restored(_ end: String) async throws {
    let home = try Home()
    try home.jot("add", "Home", "Milk")
    let terminal = try restoring(home)
    try await terminal.wait(for: "Milk")
    #expect(try terminal.value("alternate_on") == "1")
    switch end {
    case "TERM": kill(try terminal.child(), SIGTERM)
    case "INT": kill(try terminal.child(), SIGINT)
    case "HUP": kill(try terminal.child(), SIGHUP)
    default: try terminal.press(end)
    }
    try await terminal.wait(for: "as before, 0")
    #expect(try terminal.value("alternate_on") == "0")
    #expect(try terminal.value("cursor_flag") == "1")
  }

  @Test("Ctrl-Z gives the terminal to the shell, and fg brings the screen back")
  func stopped() async throws {
    let home = try Home()
    try home.jot("add", "Home", "Milk")
    let terminal = try TmuxTerminal(
      ["/bin/bash", "--norc", "-i"], environment: ["HOME": home.folder.path, "PS1": "shell> "])
    try terminal.type("\(Programs.path("jot").path) --db \(home.file("phone").path) tui")
    try terminal.press("Enter")
    try await terminal.wait(for: "- [ ] Milk")
    try terminal.press("C-z")
    try await terminal.wait(for: "Stopped")
    #expect(try terminal.value("alternate_on") == "0")
    try terminal.type("fg")
    try terminal.press("Enter")
    try await terminal.wait(for: "- [ ] Milk")
    try terminal.press("Tab", "Space")
    try await terminal.wait(for: "[x] Milk")
  }

  @Test("a closed terminal ends the program, and its file is whole then (I2)")
  func closed() async throws {
    let home = try Home()
    try home.jot("add", "Home", "Milk")
    let log = home.file("phone").path + "-wal"
    var terminal: TmuxTerminal? = try home.tui()
    try await terminal?.wait(for: "Milk")
    #expect(FileManager.default.fileExists(atPath: log))
    terminal = nil
    await waitUntil { !FileManager.default.fileExists(atPath: log) }
    #expect(try home.jot("items", "Home").contains("Milk"))
  }

  @Test("a paste in brackets is one text, whatever keys are in it")
  func pasted() async throws {
    let home = try Home()
    try home.jot("new", "Home")
    let terminal = try home.tui()
    try await terminal.wait(for: "> Home")
    // In the lists a paste does nothing: its letters are no keys.
    try terminal.paste("dyq")
    try terminal.press("a")
    try await terminal.wait(for: "New item:")
    try terminal.paste("Milk\nq\tBread")
    try await terminal.wait(for: "New item: Milk q Bread")
    try terminal.press("Enter")
    try await terminal.wait(for: "> [ ] Milk q Bread")
  }

  @Test("without colours the screen has none, and the cursor is seen")
  func colourless() async throws {
    let home = try Home()
    try home.jot("add", "Home", "Milk")
    let terminal = try home.tui(environment: ["NO_COLOR": "1"])
    try await terminal.wait(for: "> Home")
    #expect(try !terminal.styled.contains("\u{1B}["))
    let painted = try home.tui()
    try await painted.wait(for: "Milk")
    #expect(try painted.styled.contains(/\u{1B}\[(\d+;)*7m/))
  }

  @Test("of ten thousand items those around the cursor are shown")
  func long() async throws {
    let home = try Home()
    let store = try Store(path: home.file("phone").path, schema: Scene.jotSchema())
    try await store.write { db in
      let list = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (\(list), 'Long')")
      let rows = (1...9_999).map { Row(id: db.newID(), list_id: list, title: "item \($0)", position: "") }
      try db.insert(rows, at: .last)
    }
    await store.close()
    let terminal = try home.tui()
    try await terminal.wait(for: "[ ] item 21")
    try terminal.press("Tab", "G")
    try await terminal.wait(for: "> [ ] item 9999")
    try terminal.press("Space")
    try await terminal.wait(for: "1 of 9999 done")
    try terminal.press("/")
    try terminal.type("item 77")
    try terminal.press("Enter", "g", "j")
    try await terminal.wait(for: "> [ ] item 770")
  }

  @Test("without a terminal it says what to do, and ends")
  func noTerminal() throws {
    let home = try Home()
    let run = try Programs.run("jot", ["--db", home.file("phone").path, "tui"])
    #expect(run.status == 64)
    #expect(run.errors.contains("needs a terminal"))
    #expect(run.output.isEmpty)
  }
}
