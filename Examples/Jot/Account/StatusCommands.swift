import Holdfast

extension Command {
  static let sync = Command(
    "sync", "send what waits here, and fetch what is new",
    details: """
      Progress goes to the standard error. Breaking off, even by kill -9, loses and doubles nothing. In a terminal
      the questions that edits of others brought up are asked afterwards.
      """,
    options: [.server, .json]
  ) { call in
    let notebook = try call.open()
    try await Syncing(notebook).run(isJSON: call.isJSON)
    if !call.isJSON, try await Questions(notebook).ask() > 0 { try await Syncing(notebook).run() }
  }

  static let reset = Command(
    "reset", "fetch everything again, under the edits that were not sent yet",
    details: "What is here stays until the new copy is whole, also when this is broken off.",
    options: [.server, .json]
  ) { call in
    let notebook = try call.open()
    try await notebook.store.repair()
    try await notebook.store.resetAll()
    try await Syncing(notebook).run(isJSON: call.isJSON)
  }

  static let status = Command(
    "status", "show the account, and what waits to be sent", options: [.server, .json]
  ) { call in
    let notebook = try call.open()
    let account = try await notebook.store.account()
    let waiting = try await notebook.store.waitingOperations()
    let quarantined = try await notebook.store.quarantined().count
    let awaiting = try await notebook.store.zonesAwaitingRecovery()
    let resyncs = try await notebook.store.waitingZones()
    let json = JSONValue.object([
      .init("account", JSONValue(account?.name)), .init("device", JSONValue(account?.device)),
      .init("signed_in", .bool(account?.isSignedIn ?? false)),
      .init("server", JSONValue(notebook.serverAddress)),
      .init("database", .string(notebook.path)), .init("waiting", .integer(Int64(waiting))),
      .init("quarantined", .integer(Int64(quarantined))),
      .init(
        "awaiting_recovery",
        .array(
          awaiting.map { zone in
            .object([
              .init("zone", .string(zone.zone)), .init("until", .string(zone.until)),
              .init("waits_for", .string(zone.waitsFor)),
            ])
          })),
      .init(
        "waiting_zones",
        .array(
          resyncs.map { .object([.init("zone", .string($0.zone)), .init("until", .string($0.until))]) })),
    ])
    call.show(json) { terminal in
      let signedOut = terminal.paint(" (signed out: `jot sign-in` to sync)", .yellow)
      let lines = [
        (
          "account",
          account.map { $0.name.shown + ($0.isSignedIn ? "" : signedOut) }
            ?? "none yet; everything works without"
        ),
        ("device", account?.device.shown ?? "none yet"),
        ("server", notebook.serverAddress?.shown ?? "none yet"), ("database", notebook.path.shown),
        ("waiting", waiting == 0 ? "nothing" : waiting.of("edit") + " to be sent"),
        (
          "quarantine",
          quarantined == 0 ? "empty" : terminal.paint(quarantined.of("refused change set"), .yellow)
        ),
      ]
      let recovery = awaiting.map { zone in
        (
          "recovery",
          terminal.paint("\(zone.zone.shown) waits for \(zone.waitsFor), until \(zone.until)", .yellow)
        )
      }
      let later = resyncs.map { zone in
        ("resync", terminal.paint("\(zone.zone.shown) is fetched again at \(zone.until)", .yellow))
      }
      return (lines + recovery + later).map { "\(terminal.paint($0.padded(to: 10), .dim))  \($1)\n" }.joined()
    }
  }

  static let schema = Command("schema", "print the schema that the server needs: `holdfast serve --schema`") {
    _ in
    Terminal.output.write(try Notebook.schema().json.formatted() + "\n")
  }
}

extension ZoneAwaitingRecovery {
  /// What brings it back, for a person.
  fileprivate var waitsFor: String {
    switch reason {
    case .zone: "a device of its owner, or the operator of the server (`holdfast restore --grant`)"
    case .membership: "a device of its owner, or to be shared again"
    }
  }
}
