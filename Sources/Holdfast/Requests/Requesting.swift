import HoldfastCore
import HoldfastSQLite

/// A request of `POST /v1/sync`, and what must be remembered of it until its answer is applied.
package struct PreparedRequest: Sendable {
  let body: [UInt8]
  let device: String
  let token: String
  /// Up to where the answers were dealt with.
  let acknowledgedRefusals: Int64
  let acks: [SyncRequest.Ack]
  /// How many operations it carries, how many wait in all, and how many change sets it carries.
  let operations: Int
  let waiting: Int
  let changeSets: Int
  /// The device's fingerprint up to its first change set; nil when it has none.
  let oldest: String?
  /// The numbers of what it recovers.
  var recovered: [Int64] = []
  /// What it says of zones that the server asked for.
  var claims: [RecoveryClaim] = []

  /// How many change sets it has, or records that are recovered.
  var items: Int { changeSets + recovered.count }
}

/// Making requests of the outbox and the acks.
extension LocalDatabase {
  /// Reads a request off the database, after sealing what foreign writers left; nil when nobody is signed in.
  ///
  /// - Parameters:
  ///   - changeSetLimit: the greatest number of change sets, or of records that are recovered.
  ///   - app: what the server is told of the app; nil for nothing.
  package func prepareRequest(changeSetLimit: Int, app: String? = nil) throws -> PreparedRequest? {
    if try count("SELECT EXISTS (SELECT 1 FROM holdfast_edits WHERE change_set IS NULL)") == 1 {
      try transaction(.immediate) { _ = try sealing.seal(isStrict: false) }
    }
    return try transaction(.deferred) { () -> PreparedRequest? in
      let state = try state()
      guard let device = state.device, let token = state.token else { return nil }
      var request = SyncRequest()
      request.acknowledgedRefusals = state.confirmed
      request.schemaVersion = schema.version
      request.isComplete = state.mustResend
      request.lastServerClock = state.lastServerClock
      request.client = app.map { ClientVersion(app: $0, schema: schemaFingerprint) }
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
      request.proof = state.proof
      request.claims = try nextClaims()
      request.unproven = try unprovenZones()
      // Edits may build on what a restored server has lost.
      let isHandingBack = try isHandingBack()
      let (sealed, operations, oldest) =
        try isHandingBack ? ([], 0, nil) : outbox.read(into: &request, changeSetLimit: changeSetLimit)
      let recovered: (numbers: [Int64], bodies: [[UInt8]]) =
        try isHandingBack ? nextReturns(limit: changeSetLimit) : ([], [])
      return PreparedRequest(
        body: request.body(sealed: sealed, recovered: recovered.bodies), device: device, token: token,
        acknowledgedRefusals: request.acknowledgedRefusals,
        acks: request.acks,
        operations: operations,
        waiting: try outbox.waitingOperations(), changeSets: sealed.count, oldest: oldest,
        recovered: recovered.numbers, claims: request.claims)
    }
  }

  /// Moves the oldest change set, or what was recovered, which was alone in a request, into quarantine: the server can't take it.
  ///
  /// - Returns: false when it is no longer the oldest, as when another process was told the same.
  func quarantineOldest(of request: PreparedRequest, problem: [UInt8]) throws -> Bool {
    if !request.recovered.isEmpty {
      return try transaction(.immediate) {
        try whileApplying {
          try settle(recovered: request.recovered, refused: [(index: 0, problem: problem)]) > 0
        }
      }
    }
    return try transaction(.immediate) {
      guard
        let row = try connection.row("SELECT first, body, chain FROM holdfast_outbox ORDER BY first LIMIT 1"),
        let first = row[0].integer, let body = row[1].blob, row[2].text == request.oldest
      else { return false }
      try sealing.seal(isStrict: false)
      try whileApplying {
        let taken = try rebase.rollBack([first])
        var lacking = try quarantine.lackingRecords()
        try quarantine.add(first: first, body: body, operation: first, problem: problem, taken, &lacking)
        try missingCreates.await(taken.back)
        try orphans.settle()
      }
      // The number was never dealt with by the server: what follows takes its place.
      try outbox.renumber(from: first)
      return true
    }
  }
}
