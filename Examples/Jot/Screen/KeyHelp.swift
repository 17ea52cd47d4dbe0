/// What the keys do, for the help and for the line at the bottom.
enum KeyHelp {
  static let all: [(keys: String, does: String)] = [
    ("arrows, h j k l", "go through the rows and to the other pane"),
    ("PgUp, PgDn, g, G", "go by pages, to the first or last row"),
    ("Tab", "go to the other pane"),
    ("Enter", "open the list, or edit the title of the item"),
    ("e", "edit the title of the list or item"),
    ("a", "add an item at the end of the list"),
    ("A", "add a list"),
    ("Space", "check the item off, or take the mark away"),
    ("+ -", "change the amount"),
    ("K J, Shift-arrows", "move the item up or down"),
    ("n", "write a note"),
    ("t", "write the tags, with commas between them"),
    ("d", "remove the item or list; asks first"),
    ("u", "undo the last edit of this device"),
    ("/", "show only items with some text; Esc shows all"),
    ("c", "show conflicts; 1 or 2 chooses a value"),
    ("Q", "show what the server refused; r sends it again"),
    ("s", "sync now"),
    ("q, Ctrl-C", "quit"),
    ("Ctrl-Z", "stop; `fg` in the shell goes on"),
    ("Number, &", "open items of a list; a list that is shared"),
  ]

  /// The help as lines of at most so many columns.
  static func lines(width: Int) -> [[Cell]] {
    let indent = width < 60 ? 0 : 18
    return all.flatMap { "\($0.keys.padded(to: indent))  \($0.does)".cells.wrapped(to: width) }
  }

  /// What is most needed first: at the bottom is as much as fits.
  static func hints(_ model: ScreenModel) -> [String] {
    switch model.mode {
    case .browsing where model.pane == .lists:
      ["? help", "q quit", "Enter open", "A new list", "e rename", "d remove", "s sync", "u undo"]
    case .browsing:
      [
        "? help", "q quit", "a add", "Space done", "e edit", "d remove", "u undo", "n note", "t tags",
        "+ - amount", "J K move", "/ filter",
      ]
    case .typing: ["Enter saves", "Esc leaves it"]
    case .asking: []
    case .conflicts: ["Esc back", "1 keep", "2 take the other"]
    case .quarantine: ["Esc back", "r send again", "d discard"]
    case .help: ["Esc back", "j k scroll"]
    }
  }
}
