/// The answer of `POST /v1/sync`; see PROTOCOL.md, section 3.
public struct SyncAnswer: Sendable {
  /// A change set that the server refused for good.
  public struct Refused: Sendable {
    /// The number of its first operation.
    public let first: Int64
    /// The number of its last operation.
    public let last: Int64
    /// The number of the operation that is wrong.
    public let operation: Int64
    /// The problem document, as JSON.
    public let problem: [UInt8]
  }

  /// What became of what a request recovered.
  public struct Recovered: Sendable {
    /// So many of its returns were dealt with.
    public var count: Int64 = 0
    /// Those of them that can't be taken: their place in the request, and the problem document.
    public var refused: [(index: Int64, problem: [UInt8])] = []
  }

  /// What is new in one zone.
  public struct Part: Sendable {
    /// The zone.
    public var zone = ""
    /// The user's role in it.
    public var role = ""
    /// The ack that the changes follow; "" is the beginning.
    public var from = ""
    /// The token after the changes.
    public var to = ""
    /// Whether the zone goes on after these changes.
    public var hasMore = false
    /// How many changes it brings.
    public var count: Int64 = 0
    /// At most so many changes are still to come.
    public var remaining: Int64 = 0
    /// Whether the zone must be resynced.
    public var isReset = false
    /// Whether that is so because the server was restored, and has less of the zone than the device.
    public var isRestored = false
    /// Where the array of changes is in the body.
    public var changes: Range<Int> = 0..<0
  }

  /// The server's clock, not behind any stamp in the answer.
  public var clock = Stamp.zero
  /// The highest number that the server has dealt with.
  public var confirmed: Int64 = 0
  /// The server's fingerprint of everything up to `confirmed`.
  public var chain = Fingerprint.beginning
  /// The refused change sets whose answers were not acked yet.
  public var refused: [Refused] = []
  /// Whether the next request must say all acks.
  public var mustResend = false
  /// The zones that have something new.
  public var parts: [Part] = []
  /// The zones that may no longer be read.
  public var lost: [String] = []
  /// A zone of which a restored server can't say whether it may be read.
  public struct AwaitingZone: Sendable {
    /// The zone.
    public var zone = ""
    /// Whether the server does not know it at all.
    public var isUnknown = false
    /// Until when it can be recovered, in milliseconds since 1970; 0 when it can't, nil where the server does not say.
    public var until: Int64?
  }

  /// Zones of which a restored server can't say whether they may be read.
  public var awaitingRecovery: [AwaitingZone] = []
  /// What shows the server that it has dealt with the device up to `confirmed`; "" where it gives none.
  public var proof = ""
  /// What shows the server which role the user has in zones.
  public var proofs: [(zone: String, proof: String)] = []
  /// The zones for whose proof the server asks.
  public var wanted: [String] = []
  /// What became of what the request recovered; nil when none of it was looked at.
  public var recovered: Recovered?
  /// Tells the server's schema from others; "" when it did not say.
  public var schema = ""
  /// The names that its tables and columns had before.
  public var renamed = FormerNames()

  /// Reads a body. Members that are not known are skipped, so that an older device understands a newer server.
  ///
  /// - Throws: `JSONError`; `Problem` with `invalidRequest` when a member has a wrong form.
  public init(body: [UInt8]) throws {
    // Something between device and server may answer 200 with JSON of its own. Nothing must be concluded from what it does not say.
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
        case "schema": schema = try reader.readString()
        case "renamed": renamed = try FormerNames(&reader)
        case "lost": try reader.readArray { lost.append(try $0.readString()) }
        case "awaiting_recovery":
          try reader.readArray { awaitingRecovery.append(try Self.readAwaitingZone(&$0)) }
        case "proof": proof = try reader.readString()
        case "proofs":
          try reader.readObject { key, reader in proofs.append((key.string, try reader.readString())) }
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

  /// A number of an operation: such that there is one behind it, and differences of two are numbers.
  private static func number(_ reader: inout JSONReader, _ member: String) throws -> Int64 {
    let number = try reader.readInt64()
    return try parsed((0..<Int64.max / 2).contains(number) ? number : nil, member)
  }

  /// How many there are of something: so many that the sum over an answer is a number.
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

  private static func readAwaitingZone(_ reader: inout JSONReader) throws -> AwaitingZone {
    var held = AwaitingZone()
    try reader.readObject { key, reader in
      switch key {
      case "zone": held.zone = try reader.readString()
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
      case "zone": part.zone = try reader.readString()
      case "role": part.role = try reader.readString()
      case "from": part.from = try reader.readString()
      case "to": part.to = try reader.readString()
      case "more": part.hasMore = try reader.readBool()
      case "count": part.count = try count(&reader, "count")
      case "remaining": part.remaining = try count(&reader, "remaining")
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
