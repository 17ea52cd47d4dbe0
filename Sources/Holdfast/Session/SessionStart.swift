import HoldfastCore
import HoldfastSQLite

/// Binding the database to a session that the server gave.
package struct SessionStart {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var orphans: Orphans { Orphans(database: database) }
  private var outbox: Outbox { Outbox(database: database) }
  private var sealing: Sealing { Sealing(database: database) }
  private var copiedOutbox: CopiedOutbox { CopiedOutbox(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Binds the database to the session that the server answered with.
  ///
  /// - Throws: `Problem` when the server refused; `StoreError.offline` when what answered is no server of ours; `StoreError.otherUser`.
  package func adopt(_ answer: TransportAnswer) throws {
    guard (200..<300).contains(answer.status), let session = Session(body: answer.body) else {
      if let problem = Problem(document: answer.body) { throw problem }
      throw StoreError(.offline, answer.reason)
    }
    try adopt(session)
  }

  /// Binds the database to a session that the server gave.
  func adopt(_ session: Session) throws {
    try database.token.keep(session.token, device: session.device.id) { token in
      try database.transaction(.immediate) { try adopt(session, token) }
    }
  }

  private func adopt(_ session: Session, _ token: String) throws {
    let state = try database.state()
    if state.device != nil, let user = state.user, user != session.user.id {
      throw SessionRequests.otherUser(state.name ?? user)
    }
    try sealing.sealForeign()
    let hasForeignSeed = state.user != nil && state.user != session.user.id
    if hasForeignSeed, let user = state.user { try leave(seedOf: user) }
    try connection.run(
      "UPDATE holdfast_local SET device = ?, user = ?, name = ?, token = ?, session = ?",
      [
        .text(session.device.id), .text(session.user.id), .text(session.user.name), .text(token),
        .integer(session.number),
      ])
    if state.user == nil || hasForeignSeed { try moveIn(session.user.id) }
    guard state.device != session.device.id else { return }
    if let applied = session.applied { try copiedOutbox.leaveOut(applied, confirmed: state.confirmed) }
    Trace.took(.renumbered)
    try outbox.beginNumbers()
  }

  /// Removes what a seed for another user brought, but for public zones. What was written here before the sign-in stays, without a zone, where the zone
  /// was that user's own; edits of records that go are refused by the server.
  private func leave(seedOf user: String) throws {
    Trace.took(.seedLeft)
    try database.whileApplying {
      for table in schema.tables {
        try connection.run(
          "UPDATE \"\(table.name)\" SET \"zone\" = NULL WHERE \"zone\" = ? AND \"rev\" = 0", [.text(user)])
      }
      let known = try connection.rows("SELECT zone FROM holdfast_zones").compactMap { $0[0].text }
      let left = known.filter { !schema.publicZones.contains($0) }
      try zones.lose(left)
      // The server was never told that they were here.
      for zone in left { try connection.run("DELETE FROM holdfast_zones WHERE zone = ?", [.text(zone)]) }
      try orphans.settle()
      try orphans.remove()
    }
    try zones.removeStrayFiles()
  }

  /// Brings what was written before the first sign-in into the user's own zone.
  private func moveIn(_ user: String) throws {
    try database.whileApplying { try moveRecordsIn(user) }
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
}
