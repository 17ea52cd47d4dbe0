import HoldfastCore
import HoldfastServer

/// `holdfast conflicts`: lists conflicting edits.
enum ConflictsCommand: Subcommand {
  static let form = CommandForm(
    name: "conflicts", summary: "Lists concurrent edits, newest first, with both values.",
    options: .database + [
      .init(name: "limit", value: "COUNT", help: "How many at the most; 100 unless given")
    ])

  static func run(_ options: Options) throws -> Int32 {
    let limit = try options.number("limit", in: 1...1_000_000) ?? 100
    Output.shared.table(try Administration(options.location).conflicts(limit: limit))
    return 0
  }
}

/// `holdfast audit`: lists the actions of operators.
enum AuditCommand: Subcommand {
  static let form = CommandForm(
    name: "audit", summary: "Lists what operators did, at the command line and in the console, newest first.",
    options: .database + [
      .init(name: "limit", value: "COUNT", help: "How many at the most; 100 unless given")
    ],
    notes: "docs/CONSOLE.md says which actions are in it, and how long they are kept.")

  static func run(_ options: Options) throws -> Int32 {
    let limit = try options.number("limit", in: 1...1_000_000) ?? 100
    Output.shared.table(try Administration(options.location).audit(limit: limit))
    return 0
  }
}

/// `holdfast doctor`: checks the database.
enum DoctorCommand: Subcommand {
  static let form = CommandForm(
    name: "doctor",
    summary:
      "Checks the database: access, zones, numbers, references, counts, and the values of all records.",
    options: [
      .init(
        name: "repair", value: nil,
        help:
          "First gives everybody the access that members say; on PostgreSQL also puts triggers back, and feeds what was changed behind them"
      )
    ] + .database,
    notes: """
      Ends with 1 when something is wrong. Works while the server runs. Lines "in doubt" may be intended: values that the schema does not
      allow and an earlier one did, and on PostgreSQL what SQL wrote.
      """)

  static func run(_ options: Options) throws -> Int32 {
    if options.has("repair") {
      let repaired = try DatabaseRepair(options.location).run()
      for line in repaired { print(line) }
      if repaired.isEmpty { print("There was nothing that a repair mends.") }
      Output.shared.set("repaired", repaired)
    }
    let administration = try Administration(options.location)
    let (findings, doubts) = (try administration.doctor(), try administration.doubts())
    for finding in findings { print("\(finding)") }
    for doubt in doubts { print("in doubt: \(doubt)") }
    for kind in Finding.Kind.allCases where findings.contains(where: { $0.kind == kind }) {
      print("remedy of \(kind.rawValue): \(kind.remedy)")
    }
    Output.shared.set("findings", .array(findings.map(json)))
    Output.shared.set("doubts", .array(doubts.map(json)))
    print(
      findings.isEmpty ? "All is well." : "\(findings.count) findings. Keep a copy of the database.")
    return findings.isEmpty ? 0 : 1
  }

  private static func json(_ finding: Finding) -> JSONValue {
    .object([
      .init("kind", .string(finding.kind.rawValue)), .init("text", .string(finding.text)),
      .init("remedy", .string(finding.kind.remedy)),
    ])
  }
}
