import HoldfastCore
import HoldfastServer

/// `holdfast backup`: writes the shared database to a file.
enum BackupCommand: Subcommand {
  static let form = CommandForm(
    name: "backup", summary: "Writes the shared database, as it is at one moment, to a file.",
    arguments: "FILE", argumentCount: 0...1,
    options: [
      .init(
        name: "folder", value: "DIR",
        help: "In place of FILE: writes a file named by the time there, and verifies it"),
      .init(
        name: "to", value: "s3://BUCKET/PREFIX", help: "The same in a bucket of an S3-compatible store"),
      .init(
        name: "keep", value: "COUNT",
        help: "With --folder and --to: removes all but the latest of this database; 14 unless given"),
      .init(
        name: "verify", value: nil,
        help: "Reads the backup FILE, or s3://BUCKET/NAME, to its end, and says whether it is whole"),
    ] + [.s3Endpoint].settings + .database,
    notes:
      "Works while the server runs. The file holds hashes of passwords and tokens; keep it safe. \(S3Access.notes)"
  )

  static func run(_ options: Options) throws -> Int32 {
    let isKept = options.has("folder") || options.has("to")
    switch (options.arguments.first, isKept, options.has("verify")) {
    case (let path?, false, true):
      show(try options.withFile(path) { try Backup.verify($0) }, "\(path) is whole", path)
    case (let path?, false, false):
      if options.has("keep") { throw UsageError("--keep goes with --folder and --to.") }
      if path.hasPrefix(S3Place.scheme) {
        throw UsageError("Say --to \(path): the backup gets a name there.")
      }
      let summary = try noted(options, path) { try Backup(options.location).write(to: path) }
      note { try Administration(options.location).noteBackup(path, detail: "\(summary.text) Not verified.") }
      show(summary, path, path)
    case (nil, true, false):
      let store = try options.backupStore
      let count = try options.number("keep", in: 1...100_000) ?? 14
      let made = try noted(options, store.path(of: "")) {
        try store.add(Backup(options.location), keeping: count)
      }
      note {
        try Administration(options.location).noteBackup(made.path, detail: "\(made.summary.text) Verified.")
      }
      show(made.summary, made.path, made.path)
      Output.shared.set("removed", made.removed)
      Output.shared.set("others", Int64(made.others))
      for old in made.removed { print("\(old) was removed.") }
      if made.others > 0 {
        print("Backups of other databases or earlier epochs there: \(made.others). They are never removed.")
      }
      if let failure = made.failure { throw failure }
    default: throw UsageError("Say one of FILE, --folder DIR, --to s3://BUCKET/PREFIX and --verify FILE.")
    }
    return 0
  }

  private static func show(_ summary: Backup.Summary, _ subject: String, _ file: String) {
    print("\(subject): \(summary.text)")
    Output.shared.set("file", .string(file))
    summary.setMembers()
  }

  /// Makes a backup, and notes its failure in the audit log.
  private static func noted<Made>(_ options: Options, _ place: String, _ make: () throws -> Made) throws
    -> Made
  {
    do { return try make() } catch {
      // The failure itself is what the operator must hear of.
      try? Administration(options.location).noteBackup(place, failure: "\(error)")
      throw error
    }
  }
}

/// Notes what was done in the audit log. It is done, also where it can't be noted.
private func note(_ body: () throws -> Void) {
  do { try body() } catch {
    writeError("holdfast: It is done, but can't be noted in the audit log: \(error)")
  }
}

extension Backup.Summary {
  fileprivate var text: String { "\(zones) zones, \(records) records, taken at \(takenAt)." }

  fileprivate func setMembers() {
    Output.shared.set("zones", zones)
    Output.shared.set("records", records)
    Output.shared.set("taken_at", .string("\(takenAt)"))
  }
}

/// `holdfast restore`: restores a database from a backup.
enum RestoreCommand: Subcommand {
  static let form = CommandForm(
    name: "restore", summary: "Restores a backup. Devices then upload what the backup is missing.",
    arguments: "[FILE | s3://BUCKET/NAME | ZONE USER]", argumentCount: 0...2,
    options: [
      .init(name: "replace", value: nil, help: "Moves the database that is in --data aside"),
      .init(
        name: "begin-epoch", value: nil,
        help: "Takes no file: begins a new epoch in a database that came back by other means"),
      .init(
        name: "report", value: nil,
        help: "Takes no file: lists what is missing since the restore, and who claims what"),
      .init(
        name: "grant", value: nil,
        help: "Takes ZONE USER: makes a user who claims a zone that was lost its owner"),
      .init(name: "refuse", value: nil, help: "Takes ZONE USER: refuses the user's claim"),
    ] + [.s3Endpoint].settings + .database,
    notes: "Whole or not at all. Stop the server first. See docs/RESTORING.md. \(S3Access.notes)")

  static func run(_ options: Options) throws -> Int32 {
    let modes = ["begin-epoch", "report", "grant", "refuse"].filter(options.has)
    switch (modes.first, options.arguments.count) {
    case _ where modes.count > 1: throw wrong
    case (nil, 1):
      let restore = try Restore(options.location)
      let summary = try options.withFile(options.arguments[0]) {
        try restore.run($0, replacing: options.has("replace"))
      }
      note { try Administration(options.location).noteRestore(options.arguments[0]) }
      print("Restored \(summary.text)")
      print("Sessions, devices and passwords are those of the backup: revoke again what was revoked since.")
      summary.setMembers()
      Output.shared.set("findings", summary.findings.map(\.description))
      for finding in summary.findings { print("As in the database that was backed up: \(finding)") }
      if !summary.findings.isEmpty { print("`holdfast doctor` says what to do.") }
    case ("begin-epoch", 0):
      try Restore(options.location).beginEpoch(report: { print($0) }, pause: pause)
      note { try Administration(options.location).noteRestore(nil) }
      print("A new epoch has begun.")
    case ("report", 0):
      let administration = try Administration(options.location)
      Output.shared.table(try administration.restoreReport())
      let claims = try administration.recoveryClaims()
      if !claims.rows.isEmpty || Output.shared.isJSON { Output.shared.table(claims, as: "claims") }
    case ("grant", 2):
      let (zone, user) = (options.arguments[0], options.arguments[1])
      try Administration(options.location).grantRecovery(of: zone, toUser: user)
      print("\(user) is the owner of \(zone), and recovers it with the next sync.")
    case ("refuse", 2):
      let (zone, user) = (options.arguments[0], options.arguments[1])
      try Administration(options.location).refuseRecovery(of: zone, toUser: user)
      print("The claim of \(user) to \(zone) is refused.")
    default: throw wrong
    }
    return 0
  }

  private static let wrong = UsageError(
    "Say one of FILE, --begin-epoch, --report, --grant ZONE USER and --refuse ZONE USER.")
}
