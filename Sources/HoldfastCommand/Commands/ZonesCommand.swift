import HoldfastCore
import HoldfastServer

/// `holdfast zones`: lists zones, grants users roles in them, and moves them to another database.
enum ZonesCommand: Subcommand {
  static let form = CommandForm(
    name: "zones", summary: "Lists zones, makes a user a member of one, or moves zones to another database.",
    arguments: "[list | grant ZONE NAME ROLE | move ZONE... | drop ZONE...]", argumentCount: 0...1000,
    options: [
      .init(
        name: "from", value: "DATABASE",
        help: "Of move: the database that has the zones, a URL or a data directory"),
      .init(name: "to", value: "DATABASE", help: "Of move: the database that gets them"),
      .init(name: "cancel", value: nil, help: "Of move: takes zones back that have not arrived"),
      .init(
        name: "discard", value: nil,
        help: "Of move: gives up what was written to copies that a restore has brought back"),
    ] + [CommandForm.Option].directory + .database,
    notes: """
      ROLE is viewer, editor or owner. Works while the servers run; devices see it with their next sync.
      move takes --directory, and goes on when it is repeated: docs/MOVING.md. drop removes the records that are left of zones that have moved.
      """)

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1:
      Output.shared.table(try Administration(options.location).zones())
    case "grant" where words.count == 4:
      guard let role = Role(rawValue: words[3]) else { throw UsageError("ROLE is viewer, editor or owner.") }
      try Administration(options.location).grant(zone: words[1], name: words[2], role: role)
      print("\(words[2]) is \(role.rawValue) of \(words[1]).")
    case "move" where words.count > 1: try move(words.dropFirst(), options)
    case "drop" where words.count > 1:
      let administration = try Administration(options.location)
      for zone in words.dropFirst() {
        try administration.drop(zone)
        print("\(zone): its records are gone.")
      }
    default: throw UsageError("holdfast zones takes \(form.arguments).")
    }
    return 0
  }

  private static func move(_ zones: ArraySlice<String>, _ options: Options) throws {
    guard let from = options["from"], let to = options["to"], let directory = options["directory"] else {
      throw UsageError("Say --from, --to and --directory: docs/MOVING.md.")
    }
    if options.has("cancel"), options.has("discard") {
      throw UsageError("--cancel and --discard exclude each other.")
    }
    let moving = try ZoneMoving(
      from: Administration(location(from)), to: Administration(location(to)),
      in: DirectoryAdministration(directory))
    for zone in zones {
      if options.has("cancel") {
        try moving.cancel(zone)
        print("\(zone) stays.")
      } else if let moved = try moving.move(zone, discards: options.has("discard")) {
        print(
          "moved \(zone) to \(moved.database): \(moved.records) records, \(moved.deletions) deletions, \(moved.members) members"
        )
      } else {
        print("\(zone) is there.")
      }
    }
  }

  private static func location(_ text: String) -> DatabaseLocation {
    text.contains("://") ? .postgres(PostgresLocation(text)) : .directory(text)
  }
}
