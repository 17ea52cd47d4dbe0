import HoldfastCore
import HoldfastSQLite

/// Making requests of the outbox and the acks.
package struct RequestPreparation {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }
  private var schema: SyncSchema { database.schema }
  private var outbox: Outbox { Outbox(database: database) }
  private var sealing: Sealing { Sealing(database: database) }
  private var proofs: Proofs { Proofs(database: database) }
  private var recoveredRecords: RecoveredRecords { RecoveredRecords(database: database) }

  package init(database: LocalDatabase) { self.database = database }

  /// Reads a request off the database, after sealing what foreign writers left; nil when nobody is signed in.
  ///
  /// - Parameters:
  ///   - changeSetLimit: the greatest number of change sets, or of records that are recovered.
  ///   - sizeLimit: the bytes of them beyond which none is added.
  ///   - app: what the server is told of the app; nil for nothing.
  ///   - snapshotsFrom: the number of changes from which on each new zone comes as a snapshot, so that nothing of it need come now; nil for none.
  package func prepare(
    changeSetLimit: Int, sizeLimit: Int = RequestSize.most, app: String? = nil, snapshotsFrom: Int? = nil
  ) throws -> PreparedRequest? {
    if try database.count("SELECT EXISTS (SELECT 1 FROM holdfast_edits WHERE \(DeviceTables.isLoose))") == 1 {
      try database.transaction(.immediate) { _ = try sealing.sealForeign() }
    }
    return try database.transaction(.deferred) { () -> PreparedRequest? in
      let state = try database.state()
      guard let device = state.device, let token = try database.sessionToken() else { return nil }
      var request = SyncRequest()
      request.acknowledgedRefusals = state.confirmed
      request.schemaVersion = schema.version
      request.isComplete = state.mustResend
      request.lastServerClock = state.lastServerClock
      request.client = app.map { ClientVersion(app: $0, schema: database.schemaFingerprint) }
      let zones = try connection.rows("SELECT zone, ack, sent FROM holdfast_zones ORDER BY zone")
      var digest = AckDigest()
      for row in zones {
        let (zone, ack) = (row[0].text ?? "", row[1].text)
        if let ack { digest.add(zone: zone, token: ack) }
        if state.mustResend ? ack != nil : row[2].integer == 0 {
          request.acks.append(.init(zone: zone, token: ack))
        }
      }
      request.digest = digest.text
      request.takesAsSent = true
      if let snapshotsFrom, try !needsPages() { request.snapshotsFrom = Int64(max(snapshotsFrom, 1)) }
      request.proof = state.proof
      request.claims = try proofs.nextClaims()
      request.unproven = try proofs.unprovenZones()
      // Edits may build on what a restored server has lost.
      let isRecovering = try recoveredRecords.areWaiting()
      let (sealed, operations, oldest) =
        try isRecovering
        ? ([], 0, nil)
        : outbox.read(
          into: &request, changeSetLimit: changeSetLimit, sizeLimit: sizeLimit)
      let recovered: (numbers: [Int64], bodies: [[UInt8]]) =
        try isRecovering ? recoveredRecords.next(limit: changeSetLimit, sizeLimit: sizeLimit) : ([], [])
      return PreparedRequest(
        body: request.body(sealed: sealed, recovered: recovered.bodies), device: device, token: token,
        acknowledgedRefusals: request.acknowledgedRefusals,
        acks: request.acks,
        operations: operations,
        waiting: try outbox.waitingOperations(), changeSets: sealed.count, oldest: oldest,
        recovered: recovered.numbers, claims: request.claims)
    }
  }

  /// Whether a zone comes from its beginning, and in pages only: it is compared with what is here.
  private func needsPages() throws -> Bool {
    try database.count(
      "SELECT EXISTS (SELECT 1 FROM holdfast_zones WHERE resync IN ('recovered', 'compared'))") == 1
  }

  /// Whether the device, its token and the answers that it has dealt with are still those that a request was made with.
  func isCurrent(_ request: PreparedRequest) throws -> Bool {
    let state = try database.state()
    return try state.device == request.device && state.confirmed == request.acknowledgedRefusals
      && database.sessionToken() == request.token
  }
}
