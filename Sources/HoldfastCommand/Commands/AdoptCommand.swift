import HoldfastCore
import HoldfastServer

/// `holdfast schema adopt`: proposes a schema for the existing tables of a PostgreSQL database, and installs or removes Holdfast there.
enum AdoptCommand {
  static let options: [CommandForm.Option] = [
    .init(name: "tables", value: "A,B", help: "adopt: the tables to propose; all unless given"),
    .init(name: "output", value: "FILE", help: "adopt: where the proposal goes; printed unless given"),
    .init(name: "apply", value: "FILE", help: "adopt: install Holdfast for the tables of this schema"),
    .init(
      name: "remove", value: nil,
      help: "adopt: remove Holdfast, and leave the app's tables with their records"),
  ]

  static let notes = """
    Adopting takes three steps. `holdfast schema adopt --database URL --output holdfast.json` proposes a schema and says what is left out
    and why. Say in the file how each table's records find their zone ("root", {"parent": COLUMN}, "user" or {"public": NAME}); leave out
    tables and columns that no device should have. `holdfast schema adopt --database URL --apply holdfast.json` then makes the schema
    holdfast beside the tables, and the triggers on them, in one transaction that keeps writers waiting; no column is altered. It is also
    how triggers are put back that were lost. After it, `holdfast serve --database URL` runs. --remove drops all of it again, with the
    accounts, the devices and who may do what. Adopted tables are then as they were; tables that Holdfast made stay with their records. It
    removes nothing where a table or view of others would go with it.
    """

  static func run(_ options: Options) throws -> Int32 {
    guard let url = options["database"] else { throw UsageError("--database is missing.") }
    let adoption = Adoption(PostgresLocation(url))
    let tables = options["tables"].map { $0.split(separator: ",").map(String.init) }
    switch (options["apply"], options.has("remove")) {
    case (_?, true): throw UsageError("--apply and --remove exclude each other.")
    case (let path?, false):
      let notes = try adoption.apply(try readSchema(path))
      for note in notes { writeError(note) }
      Output.shared.set("notes", notes)
      print("Holdfast is installed. Next: holdfast serve --database URL")
    case (nil, true):
      let made = try adoption.remove()
      print("Holdfast is removed; adopted tables are as they were.")
      Output.shared.set("kept", made)
      if !made.isEmpty {
        print("Tables that Holdfast made stay, with their records: \(made.joined(separator: ", "))")
      }
    case (nil, false):
      let proposal = try adoption.propose(tables: tables)
      for note in proposal.notes { writeError(note) }
      Output.shared.set("notes", proposal.notes)
      guard let path = options["output"] else {
        Output.shared.text(proposal.text)
        return 0
      }
      try writeNewFile(path, Array(proposal.text.utf8))
      print(
        "\(path) is written. Say in it how each table finds its zone; then: holdfast schema adopt --database URL --apply \(path)"
      )
    }
    return 0
  }
}
