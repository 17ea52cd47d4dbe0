import HoldfastCore
import HoldfastServer

/// `holdfast directory`: makes and changes a directory of databases.
enum DirectoryCommand: Subcommand {
  static let form = CommandForm(
    name: "directory",
    summary: "Makes a directory of several databases, whose users share zones with each other.",
    arguments: "[list | init | join NAME | open NAME | close NAME | check]", argumentCount: 0...2,
    options: [
      .init(
        name: "url", value: "ADDRESS",
        help: "Of join: the address of the servers, such as https://b.example.org"),
      .init(
        name: "moved", value: nil,
        help: "Of join: the database that joined under NAME is gone; this one takes its place"),
      .init(
        name: "repair", value: nil,
        help: "Of check: claims missing names, puts presences back, tells erasures again"),
    ] + [CommandForm.Option].directory + .database,
    notes: """
      join and check also take --data or --database. End the servers of a database before it joins; then start them with --directory.
      Who can write to the directory can sign in as any user. docs/DIRECTORY.md says what it is for.
      """)

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    guard let url = options["directory"] else {
      throw UsageError("Say where the directory is: --directory postgres://… or HOLDFAST_DIRECTORY.")
    }
    let directory = try DirectoryAdministration(url)
    switch words.first ?? "list" {
    case "list" where words.count <= 1: Output.shared.table(try directory.databases())
    case "init" where words.count == 1:
      try directory.create()
      print("The directory is ready. Next, for each database: holdfast directory join NAME --url ADDRESS")
    case "join" where words.count == 2: return try join(words[1], directory, options)
    case "open" where words.count == 2:
      try directory.setOpen(true, words[1])
      print("\(words[1]) takes new users.")
    case "close" where words.count == 2:
      try directory.setOpen(false, words[1])
      print("\(words[1]) takes no new users.")
    case "check" where words.count == 1:
      let lines = try directory.check(
        try Administration(options.location), repairs: options.has("repair"))
      for line in lines { print(line) }
      Output.shared.set("differences", lines.count)
      if !lines.isEmpty { throw Failure("The database and the directory differ.") }
      print("The database and the directory agree.")
    default: throw UsageError("holdfast directory takes \(form.arguments).")
    }
    return 0
  }

  private static func join(
    _ name: String, _ directory: DirectoryAdministration, _ options: Options
  ) throws -> Int32 {
    guard let address = options["url"], isAddress(address) else {
      throw UsageError(
        "--url takes the address of the servers, such as https://b.example.org, without a slash at its end.")
    }
    let (claimed, taken) = try directory.join(
      try Administration(options.location), as: name, url: address, isMoved: options.has("moved"))
    if !taken.isEmpty {
      for name in taken { print("taken: \(name)") }
      throw Failure(
        "Users of other databases have these names. Nothing was changed. `holdfast users rename NAME NEW` gives an account another name."
      )
    }
    Output.shared.set("names", claimed)
    print("\(name) has joined with \(claimed) names. Start its servers with --directory.")
    return 0
  }

  private static func isAddress(_ text: String) -> Bool {
    let isHTTP = text.hasPrefix("https://") || text.hasPrefix("http://")
    return isHTTP && !text.hasSuffix("/") && text.utf8.count <= 2048
      && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }
}

extension [CommandForm.Option] {
  /// The option that locates a directory of databases.
  static var directory: [CommandForm.Option] {
    [
      .init(
        name: "directory", value: "URL",
        help: "The PostgreSQL database with the directory of several databases: docs/DIRECTORY.md")
    ].settings
  }
}
