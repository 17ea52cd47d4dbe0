import HoldfastCore
import HoldfastSQLite

/// The end of a session.
package struct SignOut {
  /// What is on a device at a moment, compared with what is there later.
  package struct Moment: Sendable, Equatable {
    /// Whose session it is.
    let session: String
    /// Goes on with each edit that is on this device alone.
    let edits: String
  }

  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var zones: Zones { Zones(database: database) }
  private var outbox: Outbox { Outbox(database: database) }
  private var sealing: Sealing { Sealing(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Removes the token, and with `removingData` all records and what belongs to the user.
  ///
  /// - Parameters:
  ///   - moment: whose session ends, and up to which edit unsent ones may be discarded; nil for all.
  ///   - isLeaving: whether the file is removed next. It has no tables for records then, so that nobody who has it open can write into it.
  package func run(
    removingData: Bool, discardingUnsent: Bool, upTo moment: Moment? = nil, isLeaving: Bool = false
  ) throws {
    // What is deleted is overwritten, too.
    try connection.execute("PRAGMA secure_delete = ON")
    let device = try database.transaction(.immediate) {
      try sealing.sealForeign()
      let device = try database.state().device
      if let moment, try moment.session != session() { throw Self.isOutdated }
      try connection.run("UPDATE holdfast_local SET token = NULL")
      guard removingData else { return device }
      let mayDiscard = try discardingUnsent && (moment == nil || moment?.edits == lastEdits())
      if !mayDiscard { try checkWaiting() }
      try database.whileApplying {
        for table in schema.tables { try connection.run("DELETE FROM \"\(table.name)\"") }
      }
      try connection.execute(
        """
        DELETE FROM holdfast_edits; DELETE FROM holdfast_outbox; DELETE FROM holdfast_quarantine;
        DELETE FROM holdfast_undo; DELETE FROM holdfast_zones; DELETE FROM holdfast_pages;
        DELETE FROM holdfast_resets; DELETE FROM holdfast_carried;
        DELETE FROM holdfast_recovered; DELETE FROM holdfast_deleted; DELETE FROM holdfast_awaiting_recovery; DELETE FROM holdfast_unapplied;
        UPDATE holdfast_local SET device = NULL, user = NULL, name = NULL, confirmed = 0, confirmed_chain = '\(Fingerprint.beginning.text)', resend = 0,
        last_server_clock = 0, proof = ''; DELETE FROM holdfast_recovery_claims;
        """)
      try zones.removeStrayFiles()
      if isLeaving { try makeUnusable() }
      return device
    }
    // Only now: the storage knows no rollback.
    database.token.remove(device: device)
    database.emptyLog()
  }

  private func makeUnusable() throws {
    try database.passOverForeignReferences()
    for table in schema.tables { try connection.execute("DROP TABLE \(SQLiteName.quoted(table.name))") }
    try connection.execute("PRAGMA user_version = \(DeviceTables.removedVersion)")
  }

  /// Checks that nothing waits that is on this device alone, also what another program wrote.
  ///
  /// - Throws: `StoreError.unsentEdits`.
  func checkUnsent() throws {
    try database.transaction(.immediate) {
      try sealing.sealForeign()
      try checkWaiting()
    }
  }

  /// What tells, compared with a later one, whether somebody has signed in, or something came that is on this device alone.
  func moment() throws -> Moment {
    try database.transaction(.immediate) {
      try sealing.sealForeign()
      return Moment(session: try session(), edits: try lastEdits())
    }
  }

  private func session() throws -> String {
    let state = try database.state()
    return "\(state.device ?? "") \(state.session)"
  }

  /// Why what was to be done at an earlier moment is not done.
  static let isOutdated = StoreError(
    .unsentEdits, "Somebody has signed in since the sign-out. Nothing was removed. Sign out again.")

  /// The chain goes on with each change set that is made, and stays when they are confirmed.
  private func lastEdits() throws -> String {
    let refused = try database.count("SELECT coalesce(max(n), 0) FROM holdfast_quarantine")
    return "\(try database.state().chain.text) \(refused) \(try unrecovered())"
  }

  /// How much waits to be recovered: what a restored server has lost may be nowhere else.
  private func unrecovered() throws -> Int {
    try database.count(
      """
      SELECT (SELECT count(*) FROM holdfast_recovered) + (SELECT count(*) FROM holdfast_awaiting_recovery)
      + (SELECT count(*) FROM holdfast_zones WHERE resync = 'recovered')
      """)
  }

  private func checkWaiting() throws {
    let unsent = try outbox.waitingOperations()
    let refused = try database.count("SELECT count(*) FROM holdfast_quarantine")
    let unrecovered = try unrecovered()
    if unsent + refused + unrecovered > 0 {
      throw StoreError(
        .unsentEdits,
        "\(unsent) edits were not sent yet, \(refused) change sets are in quarantine, and \(unrecovered) records or zones wait to be recovered to a restored server. Sync first, or say to discard them."
      )
    }
  }
}
