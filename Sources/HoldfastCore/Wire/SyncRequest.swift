/// The version of the protocol that this code implements.
package let protocolVersion: Int64 = 1

/// A received change set: its bytes, and its operations or their first problem.
package struct ReceivedChangeSet: Sendable {
  /// The range of its bytes in the body.
  package let range: Range<Int>
  /// The number of its operations, even if they are invalid.
  package let count: Int
  /// The operations, or the first problem and the index of its operation.
  package let content: Result<[RecordOperation], RefusedOperation>
}

/// The reason why a change set is refused, and the operation at fault.
package struct RefusedOperation: Error, Hashable, Sendable {
  /// The index of the operation in its change set, from 0.
  package let index: Int
  /// The problem of the operation.
  package let problem: Problem

  /// Creates a refusal.
  package init(index: Int, problem: Problem) {
    self.index = index
    self.problem = problem
  }
}

/// The request of `POST /v1/sync`; see PROTOCOL.md, section 3.
package struct SyncRequest: Sendable {
  /// The ack of one zone: a token, "" for the beginning, nil for a zone that the device no longer has.
  package struct Ack: Hashable, Sendable {
    /// The zone.
    package let zone: String
    /// The token; "" for the beginning, nil if the device no longer has the zone.
    package let token: String?

    /// Creates an ack.
    package init(zone: String, token: String?) {
      self.zone = zone
      self.token = token
    }
  }

  /// The maximum number of change sets in one request.
  package static let changeSetLimit = 1000
  /// The maximum number of operations in one change set.
  package static let operationLimit = 10000
  /// The same for one that only deletes. At most `operationLimit` of its records may not be below others of them: a record goes with all below it.
  package static let deletionLimit = 100_000
  /// The maximum number of acks in one request.
  package static let ackLimit = 100_000

  /// The device has durably stored refusals up to this number.
  package var acknowledgedRefusals: Int64 = 0
  /// The changed acks, or all of them.
  package var acks: [Ack] = []
  /// Whether `acks` contains all zones of the device.
  package var isComplete = false
  /// The clock of the last answer that the device applied. Its acks are as of then. Nil if not stated.
  package var lastServerClock: Stamp?
  /// The digest of all acks of the device, including those of this request.
  package var digest = AckDigest().text
  /// The app version that the device reports.
  package var client: ClientVersion?
  /// The version of the app's schema; 0 if not stated.
  package var schemaVersion: Int64 = 0
  /// The number of the first operation of the first change set.
  package var first: Int64 = 1
  /// The device's chain before `first`.
  package var chain = Fingerprint.beginning
  /// The device's chain behind the last change set; nil if not stated.
  package var lastChain: Fingerprint?
  /// The change sets, in order.
  package var changeSets: [ReceivedChangeSet] = []
  /// Those of the change sets that a device carries from another database, in order.
  package var carried: [CarriedChangeSet] = []
  /// Whether the device understands `as_sent` in the answer.
  package var takesAsSent = false
  /// More changes than these of a zone that is new to the device come as a snapshot: the answer leaves them out. Nil for none.
  package var snapshotsFrom: Int64?
  /// The records to recover on a restored server.
  package var recovered: [Result<RecoveredRecord, Problem>] = []

  /// The `proof` of the last answer that the device applied; "" if none.
  package var proof = ""
  /// Recovery claims of zones for which the server requested a proof.
  package var claims: [RecoveryClaim] = []
  /// Zones for which the device has no proof of the role.
  package var unproven: [String] = []

  /// Whether the request writes anything besides acks and acknowledged refusals.
  package var isWriting: Bool { !changeSets.isEmpty || !recovered.isEmpty || !claims.isEmpty }

  /// The origin of the change set whose first operation has a number; nil for one that is not carried.
  package func origin(ofSetAt first: Int64) -> String? {
    carried.isEmpty ? nil : carried.first { $0.first == first }?.origin
  }

  /// Creates an empty request.
  package init() {}

  /// Parses a body.
  ///
  /// - Throws: `Problem`: `malformedJSON`, `invalidRequest` or `protocolUnsupported`.
  package init(body: [UInt8], operations: OperationReader) throws(Problem) {
    do {
      self = try JSONReader.read(body) { reader in try Self.read(&reader, operations: operations) }
    } catch let problem as Problem {
      throw problem
    } catch let error as JSONError {
      throw Problem(error.isOfValue ? .invalidRequest : .malformedJSON, error.description)
    } catch {
      throw Problem(.invalidRequest)
    }
  }

  private static func read(_ reader: inout JSONReader, operations: OperationReader) throws -> SyncRequest {
    var request = SyncRequest()
    var version: Int64?
    try reader.readObject { key, reader in
      switch key {
      case "protocol": version = try reader.readInt64()
      case "acknowledged_refusals":
        request.acknowledgedRefusals = try reader.readInt64()
        guard (0..<(.max / 2)).contains(request.acknowledgedRefusals) else {
          throw Problem(.invalidRequest, "acknowledged_refusals must be 0 or more.")
        }
      case "acks": request.acks = try readAcks(&reader)
      case "complete": request.isComplete = try reader.readBool()
      case "client": request.client = try ClientVersion(&reader)
      case "schema_version": request.schemaVersion = try reader.readInt64()
      case "last_server_clock":
        guard let clock = Stamp(try reader.readString()) else {
          throw Problem(.invalidRequest, "last_server_clock must be a stamp, 16 hex digits.")
        }
        request.lastServerClock = clock
      case "digest": request.digest = try reader.readString()
      case "first":
        request.first = try reader.readInt64()
        guard request.first >= 1, request.first < .max / 2 else {
          throw Problem(.invalidRequest, "first must be 1 or more.")
        }
      case "chain": request.chain = try readChain(&reader, "chain")
      case "last_chain": request.lastChain = try readChain(&reader, "last_chain")
      case "recovered":
        try reader.readArray { reader in
          if request.recovered.count == RecoveredRecord.limit {
            throw Problem(.invalidRequest, "recovered has more than \(RecoveredRecord.limit) records.")
          }
          request.recovered.append(try operations.readRecovered(&reader))
        }
      case "proof": request.proof = try reader.readString()
      case "claims": request.claims = try RecoveryClaim.readAll(&reader)
      case "unproven":
        try reader.readArray { reader in
          if request.unproven.count == RecoveryClaim.limit {
            throw Problem(.invalidRequest, "unproven has more than \(RecoveryClaim.limit) zones.")
          }
          request.unproven.append(try reader.readString())
        }
      case "as_sent": request.takesAsSent = try reader.readBool()
      case "snapshots_from":
        request.snapshotsFrom = try reader.readInt64()
        guard (1...(.max / 2)).contains(request.snapshotsFrom ?? 0) else {
          throw Problem(.invalidRequest, "snapshots_from must be 1 or more.")
        }
      case "carried": request.carried = try CarriedChangeSet.readAll(&reader)
      case "change_sets": request.changeSets = try readChangeSets(&reader, operations: operations)
      default: throw Problem(.invalidRequest, "Unknown member \"\(key.string.prefix(64))\".")
      }
    }
    guard let version else { throw Problem(.invalidRequest, "protocol is missing.") }
    guard version == protocolVersion else {
      throw Problem(.protocolUnsupported, "Spoken here: \(protocolVersion).")
    }
    try request.requireCarried()
    return request
  }

  /// Requires that each carried set is one of the change sets.
  private func requireCarried() throws(Problem) {
    if carried.isEmpty { return }
    var open = carried[...]
    var number = first
    for set in changeSets {
      if open.first?.first == number { open.removeFirst() }
      number += Int64(set.count)
    }
    if let other = open.first {
      throw Problem(.invalidRequest, "carried: no change set begins at \(other.first), or not in this order.")
    }
  }

  private static func readChain(_ reader: inout JSONReader, _ member: String) throws -> Fingerprint {
    guard let chain = Fingerprint(try reader.readString()) else {
      throw Problem(.invalidRequest, "\(member) must be 16 hex digits.")
    }
    return chain
  }

  private static func readAcks(_ reader: inout JSONReader) throws -> [Ack] {
    var acks: [Ack] = []
    try reader.readObject { key, reader in
      if acks.count == ackLimit { throw Problem(.invalidRequest, "acks has more than \(ackLimit) zones.") }
      acks.append(
        Ack(zone: key.string, token: try reader.readNullIfPresent() ? nil : try reader.readString()))
    }
    return acks
  }

  private static func readChangeSets(
    _ reader: inout JSONReader, operations: OperationReader
  ) throws -> [ReceivedChangeSet] {
    var sets: [ReceivedChangeSet] = []
    try reader.readArray { reader in
      if sets.count == changeSetLimit {
        throw Problem(.invalidRequest, "More than \(changeSetLimit) change sets.")
      }
      let start = reader.offset
      var count = 0
      var limit = deletionLimit
      var list: [RecordOperation] = []
      var refused: RefusedOperation?
      try reader.readArray { reader in
        count += 1
        if refused != nil || count > limit {
          try reader.skipValue()
          return
        }
        switch try operations.read(&reader) {
        case .success(let operation):
          list.append(operation)
          if operation.kind != .delete { limit = operationLimit }
        case .failure(let problem): refused = RefusedOperation(index: count - 1, problem: problem)
        }
      }
      if count == 0 { throw Problem(.invalidRequest, "A change set has at least one operation.") }
      if count > limit {
        refused = RefusedOperation(
          index: limit, problem: Problem(.changeSetTooLarge, "It has \(count) operations."))
      }
      sets.append(
        ReceivedChangeSet(
          range: start..<reader.offset, count: count, content: refused.map { .failure($0) } ?? .success(list))
      )
    }
    return sets
  }

  /// The body of a request.
  ///
  /// - Parameters:
  ///   - sealed: the exact bytes of the sealed change sets.
  ///   - recovered: the records to recover, encoded by `RecoveredRecord.write`; used instead of the property.
  package func body(sealed: [[UInt8]], recovered: [[UInt8]] = []) -> [UInt8] {
    var writer = JSONWriter(capacity: 512 + sealed.reduce(0) { $0 + $1.count + 1 })
    writer.beginObject()
    writer.key("protocol")
    writer.int64(protocolVersion)
    writer.key("acknowledged_refusals")
    writer.int64(acknowledgedRefusals)
    if !acks.isEmpty || isComplete {
      writer.key("acks")
      writer.beginObject()
      for ack in acks {
        writer.key(named: ack.zone)
        if let token = ack.token { writer.string(token) } else { writer.null() }
      }
      writer.endObject()
      writer.key("complete")
      writer.bool(isComplete)
    }
    if let lastServerClock {
      writer.key("last_server_clock")
      writer.string(lastServerClock.text)
    }
    writer.key("digest")
    writer.string(digest)
    if let client {
      writer.key("client")
      client.write(to: &writer)
    }
    if schemaVersion > 0 {
      writer.key("schema_version")
      writer.int64(schemaVersion)
    }
    if let snapshotsFrom {
      writer.key("snapshots_from")
      writer.int64(snapshotsFrom)
    }
    writeProofs(to: &writer)
    if !recovered.isEmpty {
      writer.key("recovered")
      writer.beginArray()
      for bytes in recovered { writer.rawValue(bytes) }
      writer.endArray()
    }
    if !sealed.isEmpty {
      writer.key("first")
      writer.int64(first)
      writer.key("chain")
      writer.string(chain.text)
      if let lastChain {
        writer.key("last_chain")
        writer.string(lastChain.text)
      }
      if takesAsSent {
        writer.key("as_sent")
        writer.bool(true)
      }
      if !carried.isEmpty {
        writer.key("carried")
        CarriedChangeSet.writeAll(carried, to: &writer)
      }
      writer.key("change_sets")
      writer.beginArray()
      for bytes in sealed { writer.rawValue(bytes) }
      writer.endArray()
    }
    writer.endObject()
    return writer.bytes
  }

  private func writeProofs(to writer: inout JSONWriter) {
    if !proof.isEmpty {
      writer.key("proof")
      writer.string(proof)
    }
    if !claims.isEmpty {
      writer.key("claims")
      RecoveryClaim.writeAll(claims, to: &writer)
    }
    if !unproven.isEmpty {
      writer.key("unproven")
      writer.beginArray()
      for zone in unproven { writer.string(zone) }
      writer.endArray()
    }
  }
}
