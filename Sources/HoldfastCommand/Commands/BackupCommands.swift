import HoldfastServer

/// `holdfast backup`: writes the shared database to a file.
enum BackupCommand: Subcommand {
  static let form = CommandForm(
    name: "backup", summary: "Writes the shared database, as it is at one moment, to a file.",
    arguments: "FILE", argumentCount: 1...1, options: .database,
    notes: "Works while the server runs. The file holds hashes of passwords and tokens; keep it safe.")

  static func run(_ options: Options) throws -> Int32 {
    let path = options.arguments[0]
    let summary = try Backup(options.location).write(to: path)
    print("\(path): \(summary.zones) zones, \(summary.records) records, taken at \(summary.takenAt).")
    return 0
  }
}

/// `holdfast restore`: makes a database of a backup.
enum RestoreCommand: Subcommand {
  static let form = CommandForm(
    name: "restore", summary: "Makes a database of a backup. Devices hand back what it lacks.",
    arguments: "[FILE]", argumentCount: 0...1,
    options: [
      .init(name: "replace", value: nil, help: "Moves the database that is in --data aside"),
      .init(
        name: "begin-epoch", value: nil,
        help: "Takes no file: begins a new epoch in a database that came back by other means"),
      .init(name: "report", value: nil, help: "Takes no file: lists what is missing since the restore"),
    ] + .database,
    notes: "Whole or not at all. Stop the server first. See docs/RESTORING.md.")

  static func run(_ options: Options) throws -> Int32 {
    switch (options.arguments.first, options.has("begin-epoch"), options.has("report")) {
    case (let path?, false, false):
      let summary = try Restore(options.location).run(path, replacing: options.has("replace"))
      print("Restored \(summary.zones) zones, \(summary.records) records, taken at \(summary.takenAt).")
    case (nil, true, false):
      try Restore(options.location).beginEpoch()
      print("A new epoch has begun.")
    case (nil, false, true): show(try Administration(options.location).restoreReport())
    default: throw UsageError("Say one of FILE, --begin-epoch and --report.")
    }
    return 0
  }
}
