import HoldfastCore
import HoldfastServer

/// `holdfast zones`: lists zones, and gives users roles in them.
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

/// `holdfast users`: lists accounts.
enum UsersCommand: Subcommand {
  static let form = CommandForm(name: "users", summary: "Lists the accounts.", options: .database)

  static func run(_ options: Options) throws -> Int32 {
    show(try Administration(options.location).users())
    return 0
  }
}

/// `holdfast devices`: lists devices.
enum DevicesCommand: Subcommand {
  static let form = CommandForm(
    name: "devices", summary: "Lists the devices and how far they are behind, or has some begin anew.",
    arguments: "[list | reset [DEVICE]]", argumentCount: 0...2,
    options: [
      .init(name: "user", value: "NAME", help: "Resets all devices of this user"),
      .init(name: "all", value: nil, help: "Resets all devices"),
      .init(name: "zone", value: "ZONE", help: "Resets this zone alone"),
    ] + .database,
    notes:
      "A device that is reset fetches its zones anew with its next sync, under the edits that it has not sent."
  )

  static func run(_ options: Options) throws -> Int32 {
    let words = options.arguments
    switch words.first ?? "list" {
    case "list" where words.count <= 1:
      show(try Administration(options.location).devices())
    case "reset":
      let chosen: [DeviceSelection] =
        words.dropFirst().map { .device($0) } + (options["user"].map { [.user($0)] } ?? [])
        + (options.has("all") ? [.all] : [])
      guard let selection = chosen.first, chosen.count == 1 else {
        throw UsageError("holdfast devices reset takes one of DEVICE, --user and --all.")
      }
      let count = try Administration(options.location).reset(selection, zone: options["zone"])
      print("\(count) zones will be fetched anew.")
    default: throw UsageError("holdfast devices takes \(form.arguments).")
    }
    return 0
  }
}

/// `holdfast conflicts`: lists edits that met.
enum ConflictsCommand: Subcommand {
  static let form = CommandForm(
    name: "conflicts", summary: "Lists edits that met, newest first, with both values.",
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

/// `holdfast doctor`: checks the database.
enum DoctorCommand: Subcommand {
  static let form = CommandForm(
    name: "doctor", summary: "Checks the database for everything that must always hold.", options: .database,
    notes: "Ends with 1 when something is wrong. Works while the server runs.")

  static func run(_ options: Options) throws -> Int32 {
    let findings = try Administration(options.location).doctor()
    for finding in findings { print(finding) }
    print(
      findings.isEmpty ? "All is well." : "\(findings.count) findings. Keep a copy of the database.")
    return findings.isEmpty ? 0 : 1
  }
}

/// Prints a listing with its columns one under the other. What users have typed must not steer the operator's terminal.
private func show(_ given: Administration.Listing) {
  let listing = (columns: given.columns, rows: given.rows.map { $0.map(withoutControls) })
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

/// The text with U+FFFD for control characters, line breaks among them.
private func withoutControls(_ text: String) -> String {
  let isControl = { (scalar: Unicode.Scalar) in scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) }
  guard text.unicodeScalars.contains(where: isControl) else { return text }
  return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
}
