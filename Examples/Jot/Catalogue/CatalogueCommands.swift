import Holdfast

extension Command {
  /// The public zone of the schema that the catalogue is in.
  private static let zone = "catalogue"

  static let catalogueFollow = Command(
    "catalogue follow", "fetch the public catalogue, and keep it up to date with every sync",
    options: [.server, .stop]
  ) { call in
    let notebook = try call.open()
    let isFollowed = !call.arguments.has(.stop)
    try await notebook.store.follow(zone, isFollowed)
    guard isFollowed else { return Terminal.output.say("The catalogue is not on this device any more.") }
    try await Syncing(notebook).run()
  }

  static let catalogueImport = Command(
    "catalogue import", taking: "DIR", words: 1...1,
    "bring the catalogue to iso-codes' files, such as /usr/share/iso-codes/json",
    details: """
      Entries are matched by their code: what changed is updated, what went is removed. Importing the same files
      again does nothing. The account must be an editor of the zone `catalogue` on the server.
      """, options: [.server]
  ) { call in
    let notebook = try call.open()
    guard try await notebook.store.account()?.isSignedIn == true else {
      throw Failure(.signedOut, "Sign in first: the catalogue belongs to the server.")
    }
    let tables = try CatalogueFiles(folder: call.words[0]).tables()
    // Codes are compared with the newest catalogue, so it is fetched first.
    try await notebook.store.follow(zone)
    let syncing = try Syncing(notebook)
    try await syncing.run()
    var work = CatalogueImport(store: notebook.store)
    try await work.prepare(tables)
    var progress = Progress()
    try await work.write { progress.show("importing", $0, of: $1) }
    progress.clear()
    let summary = work.summary
    Terminal.output.write(
      "Imported: \(summary.created) new, \(summary.updated) changed, \(summary.deleted) removed.\n")
    try await syncing.run()
  }

  static let catalogueSearch = Command(
    "catalogue search", taking: "TEXT", words: 1...1,
    "search countries, subdivisions, languages and currencies, offline",
    details: "Finds codes, and names that have the text in them.", options: [.limit, .json]
  ) { call in
    guard let limit = Int64(call.arguments[.limit] ?? "40"), limit > 0 else {
      throw Failure(.usage, "Say --limit N.")
    }
    let hits = try await call.open().store.read { try CatalogueHit.search(call.words[0], limit: limit, $0) }
    call.show(.array(hits.map(\.json))) { terminal in
      if hits.isEmpty { return "Nothing found. `jot catalogue follow` fetches the catalogue.\n" }
      var columns = Columns("kind", "code", "name", "country")
      for hit in hits { columns.add(hit.kind, hit.code, hit.name, hit.country ?? "") }
      return columns.text(terminal)
    }
  }
}
