import HoldfastCore
import HoldfastService

/// A row of `ConsoleQuery.users`.
struct ConsoleUser {
  let id: String
  /// The name, or what became of it.
  let name: String
  let created: Int64

  init(_ row: [String?]) {
    id = row[0] ?? ""
    name =
      switch row[3] {
      case "1": "(being erased)"
      case "2": "(erased)"
      default: row[1] ?? ""
      }
    created = row.integer(2)
  }
}

/// A row of `ConsoleQuery.devices`.
struct ConsoleDevice {
  /// Whether a device can sync.
  enum Session: String {
    case signedIn = "signed in"
    case signedOut = "signed out"
    case expired = "expired"
    /// A service token, or the device of a JWT: it does not sync.
    case program = "program"
  }

  let number: Int64
  let id: String
  let user: String
  let name: String
  let confirmed: Int64
  let seenAt: Int64
  /// Empty if the device reported none.
  let app: String
  let hasPurgedAcks: Bool
  let isUnseenSinceRestore: Bool
  let session: Session

  init(_ row: [String?], _ limits: UserLimits, at now: Int64) {
    (number, id, user, name) = (row.integer(0), row[1] ?? "", row[2] ?? "", row[3] ?? "")
    (confirmed, seenAt, app) = (row.integer(5), row.integer(7), row[11] ?? "")
    (hasPurgedAcks, isUnseenSinceRestore) = (row[10] == "1", row[12] == "1")
    let known = KnownDevice(
      key: DeviceKey(number: number, user: user, token: TokenHash(of: "")), confirmed: confirmed,
      chain: .beginning, seenAt: seenAt, sessionAt: row.integer(8), acknowledgedRefusals: row.integer(6),
      isSessionUsed: true, issuedAfter: nil, hasPurgedAcks: hasPurgedAcks, client: nil)
    session =
      if row[9] == "1" { .program } else if row[4] != "1" { .signedOut } else {
        known.sessionRest(limits, at: now) == nil ? .expired : .signedIn
      }
  }
}

/// A row of `ConsoleQuery.zones`.
struct ConsoleZone {
  let name: String
  let seq: Int64
  let purged: Int64
  let isPublic: Bool
  let restored: Int64
  let records: Int64
  let bytes: Int64

  init(_ row: [String?]) {
    (name, seq, purged, isPublic) = (row[0] ?? "", row.integer(1), row.integer(2), row[3] == "1")
    (restored, records, bytes) = (row.integer(4), row.integer(5), row.integer(6))
  }

  var json: JSONValue {
    [
      "zone": .string(name), "public": .bool(isPublic), "seq": .integer(seq), "purged": .integer(purged),
      "restored": .integer(restored), "records": .integer(records), "bytes": .integer(bytes),
    ]
  }
}

/// A row of `ConsoleQuery.acks`.
struct ConsoleAck {
  let device: Int64
  let zone: String
  let epoch: String
  let seq: Int64
  let isLost: Bool
  let purged: Int64

  init(_ row: [String?]) {
    (device, zone, epoch) = (row.integer(0), row[1] ?? "", row[2] ?? "")
    (seq, isLost, purged) = (row.integer(3), row[4] == "1", row.integer(5))
  }
}

extension [String?] {
  /// The integer in a column; 0 for null.
  func integer(_ column: Int) -> Int64 { self[column].flatMap { Int64($0) } ?? 0 }
}

extension JSONValue {
  /// A time in milliseconds since 1970; null for 0.
  static func time(_ milliseconds: Int64) -> JSONValue {
    milliseconds == 0 ? .null : .string(Timestamp.text(milliseconds: milliseconds))
  }

  /// A text of any length, cut to what the console shows.
  static func cut(_ text: String?) -> JSONValue {
    guard let text else { return .null }
    return .string(text.utf8.count <= 2000 ? text : String(text.prefix(2000)) + "…")
  }
}
