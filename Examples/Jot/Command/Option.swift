/// An option of the command line.
struct Option: Sendable, Hashable {
  let name: String
  /// What stands for the value in the help; nil when the option takes none.
  let value: String?
  let summary: String

  init(_ name: String, _ value: String?, _ summary: String) {
    self.name = name
    self.value = value
    self.summary = summary
  }

  var usage: String { "--\(name)" + (value.map { " \($0)" } ?? "") }
}

extension Option {
  // Every command has these.
  static let database = Option("db", "FILE", "the database of this device; else $JOT_DB, else ~/.jot.db")
  static let help = Option("help", "explain the command")
  static let seed = Option(
    "seed", "FILE", "a snapshot (`holdfast snapshot`) that a new database begins with; else $JOT_SEED")
  static let common = [database, seed, help]

  static let server = Option(
    "server", "URL",
    "the address of the server; else $JOT_SERVER, else the one used last, kept in FILE.server")
  static let json = Option("json", "print JSON, for scripts")
  static let sync = Option("sync", "sync at once after the edit")
  static let password = Option("password", "TEXT", "the password; else $JOT_PASSWORD, else it is asked for")
  static let device = Option("device", "NAME", "what this device is called; else the name of the computer")
  static let file = Option("file", "FILE", "add each line of a file as an item (- is the standard input)")
  static let note = Option("note", "TEXT", "a note for the items")
  static let undo = Option("undo", "take the check mark away")
  static let first = Option("first", "to the beginning of the list")
  static let last = Option("last", "to the end of the list")
  static let before = Option("before", "ITEM", "in front of another item")
  static let after = Option("after", "ITEM", "behind another item")
  static let to = Option("to", "LIST", "into another list")
  static let role = Option("role", "ROLE", "viewer, editor (unless said otherwise) or owner")
  static let block = Option("block", "and block who sent it: nothing of theirs is shown to you any more")
  static let removeData = Option("remove-data", "remove all lists from this device too")
  static let discardUnsent = Option("discard-unsent", "even edits that the server does not have yet")
  static let stop = Option("stop", "end to follow, and remove the catalogue from this device")
  static let take = Option(
    "take", "WHICH", "kept: the value in the list is right; other: the one that was not kept is")
  static let value = Option("value", "TEXT", "neither is: this one is")
  static let list = Option("list", "show what can be undone, and change nothing")
  static let limit = Option("limit", "N", "show at most so many; 40 unless given")
}

extension Option {
  /// An option without a value.
  init(_ name: String, _ summary: String) { self.init(name, nil, summary) }
}
