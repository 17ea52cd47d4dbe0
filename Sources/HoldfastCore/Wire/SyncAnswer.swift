/// The answer of `POST /v1/sync`; see PROTOCOL.md, section 3.
package struct SyncAnswer: Sendable {
  /// A permanently refused change set.
  package struct Refused: Sendable {
    /// The number of its first operation.
    package let first: Int64
    /// The number of its last operation.
    package let last: Int64
    /// The number of the invalid operation.
    package let operation: Int64
    /// The problem document, as JSON.
    package let problem: [UInt8]
  }

  /// The results of recovered records in the request.
  package struct Recovered: Sendable {
    /// The number of processed records.
    package var count: Int64 = 0
    /// The refused records: their index in the request, and the problem document.
    package var refused: [(index: Int64, problem: [UInt8])] = []
  }

  /// The changes of one zone.
  package struct Part: Sendable {
    /// The zone.
    package var zone = ""
    /// The user's role in it.
    package var role = ""
    /// The ack that the changes follow; "" for the beginning.
    package var from = ""
    /// The token after the changes.
    package var to = ""
    /// Whether more changes follow.
    package var hasMore = false
    /// The number of changes in this part.
    package var count: Int64 = 0
    /// The maximum number of changes still to come.
    package var remaining: Int64 = 0
    /// Whether the zone must be resynced.
    package var isReset = false
    /// Whether the reason is a restored server that has less of the zone than the device.
    package var isRestored = false
    /// The change sets of the request, by their first numbers, whose records follow `changes`: each create as it was sent, with rev 1.
    package var asSent: [Int64] = []
    /// The range of the array of changes in the body.
    package var changes: Range<Int> = 0..<0
  }

  /// The server's clock, at least as late as every stamp in the answer.
  package var clock = Stamp.zero
  /// The highest number that the server has processed.
  package var confirmed: Int64 = 0
  /// The server's chain fingerprint up to `confirmed`.
  package var chain = Fingerprint.beginning
  /// The refused change sets that the device has not acknowledged.
  package var refused: [Refused] = []
  /// Whether the next request must contain all acks.
  package var mustResend = false
  /// The zones with changes.
  package var parts: [Part] = []
  /// The zones that the user may no longer read.
  package var lost: [String] = []
  /// Those among them that have moved, each with its database.
  package var moved: [(zone: String, database: String)] = []
  /// A zone to which a restored server can't check access, because it does not know the zone or the member.
  package struct AwaitingZone: Sendable {
    /// The zone.
    package var zone = ""
    /// Whether the zone is unknown to the server.
    package var isUnknown = false
    /// The end of the recovery period, in milliseconds since 1970; 0 if recovery is not possible, nil if not stated.
    package var until: Int64?
  }

  /// The zones to which a restored server can't check access.
  package var awaitingRecovery: [AwaitingZone] = []
  /// The proof that the server processed the device's operations up to `confirmed`; "" if absent.
  package var proof = ""
  /// The proofs of the user's roles in zones.
  package var proofs: [(zone: String, proof: String)] = []
  /// The zones for which the server requests a proof.
  package var wanted: [String] = []
  /// The results of recovered records; nil if none was processed.
  package var recovered: Recovered?
  /// The fingerprint of the server's schema; "" if absent.
  package var schema = ""
  /// The former names of its tables and columns.
  package var renamed = FormerNames()

  /// Parses a body. Unknown members are skipped, so that an older device understands a newer server.
  ///
  /// - Throws: `JSONError`; `Problem` with `invalidRequest` if a member is invalid.
  package init(body: [UInt8]) throws {
    // A proxy may answer 200 with JSON of its own. A missing member must not be taken for an empty one.
    var missing: TextSet = ["clock", "confirmed", "chain", "refused", "resend", "zones", "lost"]
    try JSONReader.read(body) { reader in
      try reader.readObject { key, reader in
        missing.remove(key.string)
        switch key {
        case "clock": clock = try Self.parsed(Stamp(try reader.readString()), "clock")
        case "confirmed": confirmed = try Self.number(&reader, "confirmed")
        case "chain": chain = try Self.parsed(Fingerprint(try reader.readString()), "chain")
        case "refused": try reader.readArray { refused.append(try Self.readRefused(&$0)) }
        case "resend": mustResend = try reader.readBool()
        case "zones": try reader.readArray { parts.append(try Self.readPart(&$0)) }
        case "schema": schema = try Self.text(&reader, "schema", upTo: Self.nameLimit)
        case "renamed": renamed = try FormerNames(&reader)
        case "lost": try reader.readArray { lost.append(try Self.text(&$0, "lost", upTo: Self.nameLimit)) }
        case "moved": try reader.readArray { moved.append(try Self.readMoved(&$0)) }
        case "awaiting_recovery":
          try reader.readArray { awaitingRecovery.append(try Self.readAwaitingZone(&$0)) }
        case "proof": proof = try Self.text(&reader, "proof", upTo: Self.tokenLimit)
        case "proofs":
          try reader.readObject { key, reader in
            proofs.append((key.string, try Self.text(&reader, "proofs", upTo: Self.tokenLimit)))
          }
        case "prove": try reader.readArray { wanted.append(try $0.readString()) }
        case "recovered": recovered = try Self.readRecoveredCount(&reader)
        default: try reader.skipValue()
        }
      }
    }
    if let member = missing.min() {
      throw Problem(.invalidRequest, "\(member) is missing: this is no answer of a sync.")
    }
  }

  private static func parsed<Parsed>(_ value: Parsed?, _ member: String) throws -> Parsed {
    guard let value else {
      throw Problem(.invalidRequest, "\(member) in the server's answer has a wrong form.")
    }
    return value
  }

  /// The bytes that names of zones, roles and schemas have at most, and those of tokens and proofs.
  package static let (nameLimit, tokenLimit) = (64, 1000)

  private static func text(_ reader: inout JSONReader, _ member: String, upTo limit: Int) throws -> String {
    let text = try reader.readString()
    return try parsed(text.utf8.count <= limit ? text : nil, member)
  }

  /// A change token, or the beginning of a zone.
  private static func token(_ reader: inout JSONReader, _ member: String) throws -> String {
    let token = try text(&reader, member, upTo: tokenLimit)
    return try parsed(token.isEmpty || ChangeToken(token) != nil ? token : nil, member)
  }

  /// The number of an operation. The limit leaves room for a successor and for differences.
  private static func number(_ reader: inout JSONReader, _ member: String) throws -> Int64 {
    let number = try reader.readInt64()
    return try parsed((0..<Int64.max / 2).contains(number) ? number : nil, member)
  }

  /// A count. The limit keeps sums over an answer within Int64.
  private static func count(_ reader: inout JSONReader, _ member: String) throws -> Int64 {
    let count = try reader.readInt64()
    return try parsed((0..<1 << 40).contains(count) ? count : nil, member)
  }

  private static func readRefused(_ reader: inout JSONReader) throws -> Refused {
    var (first, last, operation): (Int64, Int64, Int64) = (0, 0, 0)
    var problem: [UInt8] = []
    try reader.readObject { key, reader in
      switch key {
      case "first": first = try number(&reader, "first")
      case "last": last = try number(&reader, "last")
      case "operation": operation = try number(&reader, "operation")
      case "problem": problem = Array(try reader.readRawValue())
      default: try reader.skipValue()
      }
    }
    return Refused(first: first, last: last, operation: operation, problem: problem)
  }

  private static func readMoved(_ reader: inout JSONReader) throws -> (zone: String, database: String) {
    var (zone, database) = ("", "")
    try reader.readObject { key, reader in
      switch key {
      case "zone": zone = try text(&reader, "zone", upTo: nameLimit)
      case "database": database = try text(&reader, "database", upTo: nameLimit)
      default: try reader.skipValue()
      }
    }
    return (zone, database)
  }

  private static func readAwaitingZone(_ reader: inout JSONReader) throws -> AwaitingZone {
    var held = AwaitingZone()
    try reader.readObject { key, reader in
      switch key {
      case "zone": held.zone = try text(&reader, "zone", upTo: nameLimit)
      case "unknown": held.isUnknown = try reader.readBool()
      case "until": held.until = try reader.readInt64()
      default: try reader.skipValue()
      }
    }
    return held
  }

  private static func readRecoveredCount(_ reader: inout JSONReader) throws -> Recovered {
    var recovered = Recovered()
    try reader.readObject { key, reader in
      switch key {
      case "count": recovered.count = try count(&reader, "count")
      case "refused":
        try reader.readArray { reader in
          var (index, problem): (Int64, [UInt8]) = (0, [])
          try reader.readObject { key, reader in
            switch key {
            case "index": index = try count(&reader, "index")
            case "problem": problem = Array(try reader.readRawValue())
            default: try reader.skipValue()
            }
          }
          recovered.refused.append((index, problem))
        }
      default: try reader.skipValue()
      }
    }
    return recovered
  }

  private static func readPart(_ reader: inout JSONReader) throws -> Part {
    var part = Part()
    var missing: TextSet = ["zone", "role", "from", "to", "changes"]
    try reader.readObject { key, reader in
      missing.remove(key.string)
      switch key {
      case "zone": part.zone = try text(&reader, "zone", upTo: nameLimit)
      case "role": part.role = try text(&reader, "role", upTo: nameLimit)
      case "from": part.from = try token(&reader, "from")
      case "to": part.to = try token(&reader, "to")
      case "more": part.hasMore = try reader.readBool()
      case "count": part.count = try count(&reader, "count")
      case "remaining": part.remaining = try count(&reader, "remaining")
      case "as_sent": try reader.readArray { part.asSent.append(try number(&$0, "as_sent")) }
      case "reset": part.isReset = try reader.readBool()
      case "restored": part.isRestored = try reader.readBool()
      case "changes":
        let start = reader.offset
        try reader.skipValue()
        part.changes = start..<reader.offset
      default: try reader.skipValue()
      }
    }
    if part.isReset { missing = part.zone.isEmpty ? ["zone"] : [] }
    if let member = missing.min() { throw Problem(.invalidRequest, "\(member) is missing in a zone's part.") }
    return part
  }
}
