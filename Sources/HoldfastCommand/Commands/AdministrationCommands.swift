import HoldfastCore
import HoldfastServer

/// `holdfast zones`: lists zones, and grants users roles in them.
enum ZonesCommand: Subcommand {
  static let form = CommandForm(
    name: "zones", summary: "Lists zones, or makes a user a member of one.",
    arguments: "[list | grant ZONE NAME ROLE]", argumentCount: 0...4, options: .database,
    notes:
      "ROLE is viewer, editor or owner. Works while the server runs; devices see it with their next sync.")

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1:
      show(try Administration(options.location).zones())
    case "grant" where words.count == 4:
      guard let role = Role(rawValue: words[3]) else { throw UsageError("ROLE is viewer, editor or owner.") }
      try Administration(options.location).grant(zone: words[1], name: words[2], role: role)
      print("\(words[2]) is \(role.rawValue) of \(words[1]).")
    default: throw UsageError("holdfast zones takes \(form.arguments).")
    }
    return 0
  }
}

/// `holdfast conflicts`: lists conflicting edits.
enum ConflictsCommand: Subcommand {
  static let form = CommandForm(
    name: "conflicts", summary: "Lists concurrent edits, newest first, with both values.",
    options: .database + [
      .init(name: "limit", value: "COUNT", help: "How many at the most; 100 unless given")
    ])

  static func run(_ options: Options) throws -> Int32 {
    guard let limit = Int(options["limit"] ?? "100"), limit > 0 else {
      throw UsageError("--limit takes a number above 0.")
    }
    show(try Administration(options.location).conflicts(limit: limit))
    return 0
  }
}

/// `holdfast audit`: lists the actions of operators.
enum AuditCommand: Subcommand {
  static let form = CommandForm(
    name: "audit", summary: "Lists what operators did, at the command line and in the console, newest first.",
    options: .database + [
      .init(name: "limit", value: "COUNT", help: "How many at the most; 100 unless given"),
      .init(name: "json", value: nil, help: "Prints a JSON object for each, a line each"),
    ],
    notes: "docs/CONSOLE.md says which actions are in it, and how long they are kept.")

  static func run(_ options: Options) throws -> Int32 {
    guard let limit = Int(options["limit"] ?? "100"), (1...1_000_000).contains(limit) else {
      throw UsageError("--limit takes a number from 1 to 1000000.")
    }
    let listing = try Administration(options.location).audit(limit: limit)
    guard options.has("json") else {
      show(listing)
      return 0
    }
    for row in listing.rows {
      let members = zip(listing.columns, row).map { JSONValue.Member($0, .string($1)) }
      print(String(decoding: JSONValue.object(members).bytes, as: UTF8.self))
    }
    return 0
  }
}

/// `holdfast doctor`: checks the database.
enum DoctorCommand: Subcommand {
  static let form = CommandForm(
    name: "doctor", summary: "Checks the database for everything that must always hold.",
    options: [
      .init(
        name: "repair", value: nil,
        help:
          "First gives everybody the access that members say; on PostgreSQL also puts triggers back, and feeds what was changed behind them"
      )
    ] + .database,
    notes: "Ends with 1 when something is wrong. Works while the server runs.")

  static func run(_ options: Options) throws -> Int32 {
    if options.has("repair") { for line in try DatabaseRepair(options.location).run() { print(line) } }
    let administration = try Administration(options.location)
    let findings = try administration.doctor()
    for finding in findings { print("\(finding)") }
    for doubt in try administration.doubts() { print("in doubt: \(doubt)") }
    print(
      findings.isEmpty ? "All is well." : "\(findings.count) findings. Keep a copy of the database.")
    return findings.isEmpty ? 0 : 1
  }
}

/// Prints a table. Text from users must not control the operator's terminal, so it is escaped.
func show(_ given: Administration.Listing) {
  let listing = (columns: given.columns, rows: given.rows.map { $0.map(\.shown) })
  let widths = listing.columns.indices.map { column in
    ([listing.columns] + listing.rows).map { $0[column].count }.max() ?? 0
  }
  for row in [listing.columns] + listing.rows {
    let cells = row.enumerated().map { index, text in
      index == row.count - 1 ? text : text + String(repeating: " ", count: widths[index] - text.count)
    }
    print(cells.joined(separator: "  "))
  }
}
