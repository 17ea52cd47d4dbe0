import Foundation
import Holdfast
import HoldfastCore

/// `holdfast import`: takes the data of another database into a device's database, and sends it to the server.
enum ImportCommand: Subcommand {
  static let form = CommandForm(
    name: "import", summary: "Imports the records of an SQLite file or a CouchDB database.",
    arguments: "sqlite FILE | couchdb URL", argumentCount: 2...2,
    options: [
      .init(name: "schema", value: "FILE", help: "The schema file", isRequired: true),
      .init(
        name: "into", value: "FILE", help: "A device's database, which is made when it is not there",
        isRequired: true),
      .init(
        name: "namespace", value: "TEXT",
        help:
          "Tells keys that are no UUIDs from those of other imports; of couchdb, the database's name unless given"
      ),
      .init(
        name: "update", value: nil, help: "Records that were imported before get the values of the source"),
      .init(name: "server", value: "URL", help: "Sends what was imported to this server"),
      .init(name: "user", value: "NAME", help: "The account on the server that owns the records"),
      .init(
        name: "table-member", value: "NAME",
        help: "couchdb: the member of a document that names its table; type unless given"),
      .init(
        name: "conflicts", value: "FILE", help: "couchdb: where revisions that lost a conflict are written"),
      .init(
        name: "since", value: "SEQUENCE",
        help: "couchdb: begins behind this point of the feed, which the last import printed"),
    ],
    notes: """
      An import can be repeated: a record that is there already stays as it is, or, with --update, gets the values that differ. With --server
      the password of NAME is read from the standard input, unless a session of an earlier import goes on. The command ends with 1 when a record was left out or refused.
      docs/MIGRATING.md says how names and values are matched.
      """)

  static func run(_ options: Options) throws -> Int32 {
    guard let schemaPath = options["schema"], let path = options["into"] else {
      throw UsageError("--schema and --into are needed.")
    }
    let account = try Account(options)
    let (kind, source) = (options.arguments[0], options.arguments[1])
    if kind == "sqlite" { try checkFile(source) }
    let store = try Store(path: path, schema: try readSchema(schemaPath))
    if let account { try check(store, path, isOf: account) }
    let report: ImportReport
    switch kind {
    case "sqlite":
      guard let namespace = options["namespace"] else {
        throw UsageError("--namespace is missing: a text of this file's data, such as the name of its user.")
      }
      let isUpdating = options.has("update")
      report = try blocking {
        try await store.importRecords(from: source, namespace: namespace, updating: isUpdating)
      }
    case "couchdb": report = try importCouch(source, into: store, options)
    default: throw UsageError("holdfast import takes \(form.arguments).")
    }
    let isComplete = show(report)
    let isAccepted = try account.map { try send(store, as: $0) } ?? true
    try blocking { await store.close() }
    return isComplete && isAccepted ? 0 : 1
  }

  /// Checks that a file looks like a database, before another one is made.
  private static func checkFile(_ path: String) throws(Failure) {
    let head = try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 16)
    guard let head else { throw Failure("\(path) can't be read. Name the SQLite file of the app.".shown) }
    guard head == Data("SQLite format 3\0".utf8) else {
      throw Failure("\(path) is no SQLite database.".shown)
    }
  }

  /// Checks that a device's database is not another user's, to whom all that is written into it goes.
  private static func check(_ store: Store, _ path: String, isOf account: Account) throws {
    guard let known = try blocking({ try await store.account() }), !known.name.isEmpty,
      known.name != account.name
    else { return }
    throw Failure(
      "\(path) belongs to \(known.name), and not to \(account.name). Name another file with --into.".shown)
  }

  private static func importCouch(_ source: String, into store: Store, _ options: Options) throws
    -> ImportReport
  {
    let address = try CouchAddress(source)
    if let path = options["conflicts"] { try checkLines(path) }
    let couch = CouchImport(
      documents: CouchDocuments(address),
      mapping: CouchMapping(schema: store.schema, tableMember: options["table-member"] ?? "type"),
      conflicts: options["conflicts"], namespace: options["namespace"] ?? address.name,
      isUpdating: options.has("update"))
    let since = options["since"] ?? "0"
    let result = try blocking { try await couch.run(into: store, since: since) }
    if result.losers > 0 {
      let place =
        options["conflicts"].map { "they are in \($0)." } ?? "name a file for them with --conflicts."
      print("\(result.losers) revisions lost a conflict: \(place)")
    }
    Output.shared.set("sequence", .string(result.sequence))
    print("Continue later with --update --since \(result.sequence)")
    return result.report
  }

  /// Prints what came of an import.
  ///
  /// - Returns: whether no record was left out.
  private static func show(_ report: ImportReport) -> Bool {
    print(
      "\(report.created) records created, \(report.updated) updated, \(report.deleted) deleted, \(report.kept) kept."
    )
    for (name, count) in [
      ("created", report.created), ("updated", report.updated), ("deleted", report.deleted),
      ("kept", report.kept),
    ] { Output.shared.set(name, count) }
    Output.shared.set("ignored", report.ignored)
    Output.shared.set("problems", .array(report.problems.map(json)))
    for name in report.ignored { writeError("ignored, as the schema does not have it: \(name.shown)") }
    for problem in report.problems {
      let what = problem.isLeftOut ? "left out" : "incomplete"
      writeError("\(what): \(problem.table) \(problem.key): \(problem.reason)".shown)
    }
    return !report.problems.contains { $0.isLeftOut }
  }

  private static func json(_ problem: ImportReport.Problem) -> JSONValue {
    .object([
      .init("table", .string(problem.table)), .init("key", .string(problem.key)),
      .init("left_out", .bool(problem.isLeftOut)), .init("reason", .string(problem.reason)),
    ])
  }

  /// The account to which records go.
  private struct Account: Sendable {
    let server: URL
    let name: String

    init?(_ options: Options) throws(UsageError) {
      switch (options["server"], options["user"]) {
      case (nil, nil): return nil
      case (let server?, let name?):
        guard let url = URL(string: server), url.host != nil else {
          throw UsageError("\(server) is no address of a server.")
        }
        (self.server, self.name) = (url, name)
      default: throw UsageError("--server and --user go together.")
      }
    }
  }

  /// Sends what was imported.
  ///
  /// - Returns: whether the server accepted all of it.
  private static func send(_ store: Store, as account: Account) throws -> Bool {
    let isSignedIn = try blocking { try await store.account()?.isSignedIn ?? false }
    // Only a sync finds out that the server has ended the session.
    let sent = isSignedIn ? try blocking { try await syncInSession(store, account) } : nil
    let summary = try sent ?? signInAndSync(store, account)
    let refused = try blocking { try await store.quarantined() }
    print("\(summary.sent) operations sent.")
    Output.shared.set("sent", summary.sent)
    Output.shared.set("refused", .array(refused.map { .string("\($0.reason)") }))
    for set in refused { writeError("refused: \(set.reason)".shown) }
    return refused.isEmpty
  }

  private static func engine(_ store: Store, _ account: Account) -> SyncEngine {
    SyncEngine(store: store, server: account.server, app: "holdfast import")
  }

  /// - Returns: nil if the session has ended.
  private static func syncInSession(_ store: Store, _ account: Account) async throws -> SyncSummary? {
    do { return try await engine(store, account).sync() } catch let error as StoreError
      where error.code == .signedOut
    {
      return nil
    }
  }

  private static func signInAndSync(_ store: Store, _ account: Account) throws -> SyncSummary {
    guard let password = UsersCommand.readSecret("Password of \(account.name): ") else {
      throw Failure("\(account.name) is not signed in, and there was no password on the standard input.")
    }
    return try blocking {
      let engine = engine(store, account)
      try await engine.signIn(name: account.name, password: password, device: "holdfast import")
      return try await engine.sync()
    }
  }
}
