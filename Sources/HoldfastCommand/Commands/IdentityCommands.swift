import Glibc
import HoldfastCore
import HoldfastServer

/// `holdfast users`: lists accounts, sets passwords, exports data and erases users.
enum UsersCommand: Subcommand {
  static let form = CommandForm(
    name: "users",
    summary:
      "Lists the accounts, gives a user another password or name, takes out a user's data, or erases a user.",
    arguments: "[list | password NAME | rename NAME NEW | export NAME DIR | erase NAME]",
    argumentCount: 0...3,
    options: [
      .init(
        name: "format", value: "FORMAT", help: "Of export: jsonl, one file, or csv, a file for each table"),
      .init(name: "yes", value: nil, help: "Of erase: without asking for the name again"),
    ] + .database,
    notes: """
      The password is read from the standard input, a line. All sessions of the user end.
      An export is of one moment. DIR must not be there yet.
      Who is erased can't be restored. docs/EXPORT-AND-ERASURE.md says what goes and what stays.
      """)

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1: Output.shared.table(try Administration(options.location).users())
    case "password" where words.count == 2:
      let administration = try Administration(options.location)
      guard let password = readSecret("New password of \(words[1]): ") else {
        throw Failure("There was no password on the standard input.")
      }
      try administration.setPassword(password, ofUser: words[1])
      print("\(words[1]) has another password. All sessions have ended.")
    case "rename" where words.count == 3:
      try Administration(options.location).rename(words[1], to: words[2])
      print("\(words[1]) is \(words[2]) from now on.")
    case "export" where words.count == 3:
      guard let format = AccountFormat(rawValue: options["format"] ?? "jsonl") else {
        throw UsageError("--format is jsonl or csv.")
      }
      let count = try writeNewFolder(words[2]) { folder in
        try Administration(options.location).export(words[1], as: format) { file, bytes in
          try appendToFile("\(folder)/\(file)", bytes)
        }
      }
      Output.shared.set("records", count)
      print("\(count) records are in \(words[2]).")
    case "erase" where words.count == 2: return try erase(words[1], isSure: options.has("yes"), options)
    default: throw UsageError("holdfast users takes \(form.arguments).")
    }
    return 0
  }

  private static func erase(_ name: String, isSure: Bool, _ options: Options) throws -> Int32 {
    let administration = try Administration(options.location)
    if !isSure {
      writeError("Nobody can bring \(name) back. Type the name again: ")
      guard readLine() == name else { throw Failure("It is another name. Nothing was changed.") }
    }
    let (id, isDone) = try administration.erase(name, pause: pause)
    print("\(name) is erased, \(id).")
    Output.shared.set("user", .string(id))
    Output.shared.set("done", .bool(isDone))
    if isDone { return 0 }
    print(
      "Somebody was in the way of the last steps: a server takes them with its next pass, or `holdfast purge`."
    )
    return 1
  }

  /// A line of standard input, not echoed on a terminal.
  static func readSecret(_ prompt: String) -> String? {
    var before = termios()
    guard tcgetattr(0, &before) == 0 else { return readLine() }
    writeError(prompt)
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(0, TCSAFLUSH, &silent)
    defer { tcsetattr(0, TCSAFLUSH, &before) }
    return readLine()
  }
}

/// `holdfast devices`: lists devices, revokes them, and makes them resync.
enum DevicesCommand: Subcommand {
  static let form = CommandForm(
    name: "devices",
    summary: "Lists the devices and how far they are behind, signs one out, or has some resync.",
    arguments: "[list | revoke ID | reset [ID]]", argumentCount: 0...2,
    options: [
      .init(name: "user", value: "NAME", help: "Of reset: all devices of this user"),
      .init(name: "all", value: nil, help: "Of reset: all devices"),
      .init(name: "zone", value: "ZONE", help: "Of reset: this zone alone"),
    ] + .database,
    notes:
      "A revoked device keeps its unsent edits until somebody signs in on it again. One that is reset fetches its zones again, and keeps them too."
  )

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1: Output.shared.table(try Administration(options.location).devices())
    case "revoke" where words.count == 2:
      try Administration(options.location).revoke(device: words[1])
      print("\(words[1]) is signed out.")
    case "reset":
      let count = try Administration(options.location).reset(selection(options), zone: options["zone"])
      Output.shared.set("zones", count)
      print("\(count) zones will be fetched again.")
    default: throw UsageError("holdfast devices takes \(form.arguments).")
    }
    return 0
  }

  /// The devices to reset.
  private static func selection(_ options: Options) throws -> DeviceSelection {
    let chosen: [DeviceSelection] =
      options.arguments.dropFirst().map { .device($0) } + (options["user"].map { [.user($0)] } ?? [])
      + (options.has("all") ? [.all] : [])
    guard let selection = chosen.first, chosen.count == 1 else {
      throw UsageError("holdfast devices reset takes one of ID, --user and --all.")
    }
    return selection
  }
}

/// `holdfast tokens`: creates, lists and revokes service tokens.
enum TokensCommand: Subcommand {
  static let form = CommandForm(
    name: "tokens", summary: "Makes, lists and revokes the tokens of back-end programs.",
    arguments: "[list | create | revoke ID]", argumentCount: 0...2,
    options: [
      .init(name: "name", value: "NAME", help: "Of create: what the program is called"),
      .init(name: "role", value: "ROLE", help: "Of create: viewer, editor or owner"),
      .init(name: "tables", value: "A,B", help: "Of create: the tables that it may use; all unless given"),
      .init(name: "zones", value: "A,B", help: "Of create: its zones"),
      .init(name: "all-zones", value: nil, help: "Of create: all zones, in place of --zones"),
    ] + [CommandForm.Option].directory + .database,
    notes:
      "The token is printed once, and stored nowhere. It never changes: make another, and revoke the first.")

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1: Output.shared.table(try Administration(options.location).tokens())
    case "create" where words.count == 1:
      let token = try create(options)
      if Output.shared.isJSON { Output.shared.set("token", .string(token)) } else { print(token) }
    case "revoke" where words.count == 2:
      try Administration(options.location).revoke(device: words[1])
      print("\(words[1]) is not valid any more.")
    default: throw UsageError("holdfast tokens takes \(form.arguments).")
    }
    return 0
  }

  private static func create(_ options: Options) throws -> String {
    guard let name = options["name"] else { throw UsageError("--name is missing.") }
    guard let role = options["role"].flatMap(Role.init(rawValue:)) else {
      throw UsageError("--role takes viewer, editor or owner.")
    }
    if options.has("all-zones") == options.has("zones") {
      throw UsageError("Say --zones A,B or --all-zones.")
    }
    func names(_ option: String) -> [String]? {
      options[option].map { $0.split(separator: ",").map(String.init) }
    }
    return try Administration(options.location).createToken(
      name: name, role: role, tables: names("tables"), zones: names("zones"),
      directory: try options["directory"].map { try DirectoryAdministration($0) })
  }
}
