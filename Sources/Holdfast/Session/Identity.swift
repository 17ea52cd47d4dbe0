import HoldfastCore
import HoldfastSQLite

/// Whom the database belongs to, and the numbers of its change sets.
extension LocalDatabase {
  /// The token of the session; nil when nobody is signed in.
  package func sessionToken() throws -> String? { try state().token }

  /// The request of a sign-up (`v1/accounts`) or a sign-in (`v1/sessions`).
  ///
  /// - Throws: `StoreError.otherUser` when the database has another user's data.
  package func sessionRequest(
    _ path: String, name: String, password: String, device: String
  ) throws -> TransportRequest {
    let state = try state()
    // A seed for somebody else is left behind at the sign-in.
    if state.device != nil, let known = state.name, known != name { throw otherUser(known) }
    let continued = path == "v1/sessions" ? state.device : nil
    let body = JSONValue.object([
      .init("name", .string(name)), .init("password", .string(password)),
      .init("device", sessionDevice(device, continued, state.session)),
    ])
    return TransportRequest(method: "POST", path: path, body: body.bytes)
  }

  /// The request of a sign-in with the token of an identity provider. Whose it is, only the server can tell.
  package func sessionRequest(token: String, device: String) throws -> TransportRequest {
    let state = try state()
    let body = JSONValue.object([
      .init("token", .string(token)), .init("device", sessionDevice(device, state.device, state.session)),
    ])
    return TransportRequest(method: "POST", path: "v1/sessions", body: body.bytes)
  }

  /// What a sign-in says of the device: one that was signed in before goes on itself, with its numbers.
  private func sessionDevice(_ name: String, _ known: String?, _ session: Int64) -> JSONValue {
    var members: [JSONValue.Member] = [.init("name", .string(name))]
    if let known {
      members.append(.init("id", .string(known)))
      if session > 0 { members.append(.init("session", .integer(session))) }
    }
    return .object(members)
  }

  /// Binds the database to the session that the server answered with.
  ///
  /// - Throws: `Problem` when the server refused; `StoreError.refused`, `StoreError.otherUser`.
  package func adopt(_ answer: TransportAnswer) throws {
    guard (200..<300).contains(answer.status), let session = Session(body: answer.body) else {
      if let problem = Problem(document: answer.body) { throw problem }
      throw StoreError(.refused, "The server answered with status \(answer.status).")
    }
    try adopt(session)
  }

  private func otherUser(_ known: String) -> StoreError {
    StoreError(
      .otherUser, "This database belongs to \(known). Remove that user's data first, or use another file.")
  }

  /// Whether the device, its token and the answers that it has dealt with are still those that a request was made with.
  func isCurrent(_ request: PreparedRequest) throws -> Bool {
    let state = try state()
    return state.device == request.device && state.token == request.token
      && state.confirmed == request.acknowledgedRefusals
  }

  /// Binds the database to a session that the server gave.
  func adopt(_ session: Session) throws {
    try transaction(.immediate) {
      let state = try state()
      if state.device != nil, let user = state.user, user != session.user.id {
        throw otherUser(state.name ?? user)
      }
      try sealing.seal(isStrict: false)
      let hasForeignSeed = state.user != nil && state.user != session.user.id
      if hasForeignSeed, let user = state.user { try leave(seedOf: user) }
      try connection.run(
        "UPDATE holdfast_local SET device = ?, user = ?, name = ?, token = ?, session = ?",
        [
          .text(session.device.id), .text(session.user.id), .text(session.user.name), .text(session.token),
          .integer(session.number),
        ])
      if state.user == nil || hasForeignSeed { try moveIn(session.user.id) }
      guard state.device != session.device.id else { return }
      if let applied = session.applied { try leaveOut(applied, confirmed: state.confirmed) }
      Trace.took(.renumbered)
      try outbox.beginNumbers()
    }
  }

  /// Leaves out of the outbox of a copy what the device that it is a copy of has brought through already. What may have arrived, as the server does not
  /// remember so far back, or was refused there, waits in quarantine.
  private func leaveOut(_ applied: AppliedChangeSets, confirmed: Int64) throws {
    var uncertain: [(first: Int64, body: [UInt8])] = []
    let (dealt, refused, completeFrom) = (Set(applied.entries), Set(applied.refused), applied.completeFrom)
    try whileApplying {
      let sets = try connection.rows("SELECT first, last, chain, body FROM holdfast_outbox ORDER BY first")
        .compactMap { row -> (first: Int64, took: AppliedChangeSets.Entry, body: [UInt8])? in
          guard let first = row[0].integer, let last = row[1].integer,
            let chain = row[2].text.flatMap(Fingerprint.init), let body = row[3].blob
          else { return nil }
          return (first, .init(last: last, chain: chain), body)
        }
      let arrived = sets.last { dealt.contains($0.took) }?.first ?? 0
      for (first, took, body) in sets {
        if dealt.contains(took) {
          Trace.took(.copyLeftOut)
          let created = try missingCreates.records(inSets: first...first)
          try connection.run("DELETE FROM holdfast_edits WHERE change_set = ?", [.integer(first)])
          try connection.run("DELETE FROM holdfast_outbox WHERE first = ?", [.integer(first)])
          try missingCreates.await(created)
        } else if refused.contains(took) || first < arrived
          || confirmed < completeFrom && took.last <= completeFrom
        {
          uncertain.append((first, body))
        }
      }
      if uncertain.isEmpty { return }
      Trace.took(.copyUncertain)
      let taken = try rebase.rollBack(uncertain.map(\.first))
      let problem = Problem(.changeSetUncertain).document
      var lacking = try quarantine.lackingRecords()
      for set in uncertain {
        try quarantine.add(
          first: set.first, body: set.body, operation: set.first, problem: problem, taken, &lacking)
      }
      try missingCreates.await(taken.back)
      try orphans.settle()
      // A deletion that was rolled back brings a record back under one that is deleted by a set that arrived.
      try orphans.remove()
    }
  }

  /// Removes what a seed for another user brought, but for public zones. What was written here before the sign-in stays, without a zone, where the zone
  /// was that user's own; edits of records that go are refused by the server.
  private func leave(seedOf user: String) throws {
    Trace.took(.seedLeft)
    try whileApplying {
      for table in schema.tables {
        try connection.run(
          "UPDATE \"\(table.name)\" SET \"zone\" = NULL WHERE \"zone\" = ? AND \"rev\" = 0", [.text(user)])
      }
      let known = try connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text }
      for zone in known where !schema.publicZones.contains(zone) {
        try zones.lose(zone)
        // The server was never told that it was here.
        try connection.run("DELETE FROM holdfast_zones WHERE zone = ?", [.text(zone)])
      }
      try orphans.settle()
      try orphans.remove()
    }
    try zones.removeStrayFiles()
  }

  /// Brings what was written before the first sign-in into the user's own zone.
  private func moveIn(_ user: String) throws {
    try whileApplying { try moveRecordsIn(user) }
  }

  private func moveRecordsIn(_ user: String) throws {
    for table in schema.tables where table.zone == .user {
      try connection.run("UPDATE \"\(table.name)\" SET \"zone\" = ? WHERE \"zone\" IS NULL", [.text(user)])
      try connection.run(
        "UPDATE holdfast_edits SET base = ? WHERE record_table = ? AND kind = 'delete' AND column_name = '' AND base IS NULL",
        [.text(user), .text(table.name)])
    }
    for (index, table) in schema.tables.enumerated() {
      guard case .parent = table.zone else { continue }
      for row in try connection.rows("SELECT \"id\" FROM \"\(table.name)\" WHERE \"zone\" IS NULL") {
        if let id = row[0].text { try zones.complete(index, id) }
      }
    }
  }

  /// Removes the token, and with `removingData` all records and what belongs to the user.
  package func signOut(removingData: Bool, discardingUnsent: Bool) throws {
    try transaction(.immediate) {
      try sealing.seal(isStrict: false)
      try connection.run("UPDATE holdfast_local SET token = NULL")
      guard removingData else { return }
      let unsent = try outbox.waitingOperations()
      let refused = try count("SELECT count(*) FROM holdfast_quarantine")
      if unsent + refused > 0, !discardingUnsent {
        throw StoreError(
          .unsentEdits,
          "\(unsent) edits were not sent yet and \(refused) change sets are in quarantine. Sync first, or say to discard them."
        )
      }
      try whileApplying {
        for table in schema.tables { try connection.run("DELETE FROM \"\(table.name)\"") }
      }
      try connection.execute(
        """
        DELETE FROM holdfast_edits; DELETE FROM holdfast_outbox; DELETE FROM holdfast_quarantine;
        DELETE FROM holdfast_undo; DELETE FROM holdfast_zones; DELETE FROM holdfast_pages;
        DELETE FROM holdfast_resets;
        DELETE FROM holdfast_recovered; DELETE FROM holdfast_deleted; DELETE FROM holdfast_awaiting_recovery; DELETE FROM holdfast_unapplied;
        UPDATE holdfast_local SET device = NULL, user = NULL, name = NULL, next_number = 1, confirmed = 0,
        chain = '\(Fingerprint.beginning.text)', confirmed_chain = '\(Fingerprint.beginning.text)', resend = 0,
        last_server_clock = 0, proof = ''; DELETE FROM holdfast_recovery_claims;
        """)
      try zones.removeStrayFiles()
    }
  }

}
