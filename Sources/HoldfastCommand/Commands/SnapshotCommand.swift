import HoldfastCore
import HoldfastServer

/// `holdfast snapshot`: writes a snapshot file for an app to ship.
enum SnapshotCommand: Subcommand {
  static let form = CommandForm(
    name: "snapshot", summary: "Writes zones as one SQLite file that a device opens as its own.",
    options: [
      .init(
        name: "output", value: "FILE",
        help: "The file; a snapshot that is there is replaced, and nothing else", isRequired: true),
      .init(name: "zone", value: "ZONE", help: "This zone"),
      .init(name: "public", value: nil, help: "All public zones"),
      .init(name: "user", value: "NAME", help: "All zones that this user may read, and no others"),
    ] + .database,
    notes: "Works while the server runs. The app opens the file with Store(path:schema:seed:).")

  static func run(_ options: Options) throws -> Int32 {
    let contents: SnapshotContents
    switch (options["zone"], options.has("public"), options["user"]) {
    case (let zone?, false, nil): contents = .zone(zone)
    case (nil, true, nil): contents = .publicZones
    case (nil, false, let name?): contents = .user(name)
    default: throw UsageError("Say what the file holds: one of --zone ZONE, --public and --user NAME.")
    }
    guard let path = options["output"] else { throw UsageError("--output is missing.") }
    let zones = try SnapshotWriter(options.location).write(contents, to: path)
    Output.shared.set("file", .string(path))
    Output.shared.set(
      "rows",
      .array(
        zones.map { zone, token in
          if !Output.shared.isJSON { print("\(zone) \(token)") }
          return .object([.init("zone", .string("\(zone)")), .init("change_token", .string("\(token)"))])
        }))
    return 0
  }
}
