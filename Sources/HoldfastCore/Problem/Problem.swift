/// The stable code of a problem: the `code` of a problem document (RFC 9457).
public enum ProblemCode: String, Sendable, CaseIterable {
  case malformedJSON = "malformed-json"
  case invalidRequest = "invalid-request"
  case protocolUnsupported = "protocol-unsupported"
  case tokenMissing = "token-missing"
  case tokenInvalid = "token-invalid"
  case ticketInvalid = "ticket-invalid"
  case credentialsWrong = "credentials-wrong"
  case nameTaken = "name-taken"
  case notFound = "not-found"
  case methodNotAllowed = "method-not-allowed"
  case requestTimeout = "request-timeout"
  case deviceDiverged = "device-diverged"
  case bodyTooLarge = "body-too-large"
  case unsupportedMediaType = "unsupported-media-type"
  case headersTooLarge = "headers-too-large"
  case busy = "busy"
  case storageFull = "storage-full"
  case internalError = "internal-error"
  case invalidOperation = "invalid-operation"
  case changeSetTooLarge = "change-set-too-large"
  case unknownTable = "unknown-table"
  case unknownColumn = "unknown-column"
  case invalidID = "invalid-id"
  case invalidValue = "invalid-value"
  case valueTooLong = "value-too-long"
  case valueMissing = "value-missing"
  case readOnlyTable = "read-only-table"
  case recordExists = "record-exists"
  case recordUnknown = "record-unknown"
  case referenceMissing = "reference-missing"
  case referenceRestricted = "reference-restricted"
  case uniqueTaken = "unique-taken"
  case roleInsufficient = "role-insufficient"
  case lastOwner = "last-owner"
  case sharingLimit = "sharing-limit"
  case invitationInvalid = "invitation-invalid"
  case userUnknown = "user-unknown"
  case recordDeleted = "record-deleted"
  case preconditionFailed = "precondition-failed"
  case requestIDReused = "request-id-reused"
  case batchRefused = "batch-refused"
  case indexMissing = "index-missing"
  case resultTooLarge = "result-too-large"
  case pageExpired = "page-expired"
  case tokenFenced = "token-fenced"
  case notAcceptable = "not-acceptable"
  case rangeNotSatisfiable = "range-not-satisfiable"
  case conflictResolved = "conflict-resolved"
  case validationFailed = "validation-failed"
  case changeSetUncertain = "change-set-uncertain"
  case changeSetLost = "change-set-lost"
  case alreadyApplied = "already-applied"
  case zoneNotRecovered = "zone-not-recovered"
  case tooManyAttempts = "too-many-attempts"
  case tokenLimited = "token-limited"
  case appTooOld = "app-too-old"
  case userLimit = "user-limit"
  case targetTooLong = "target-too-long"
  case expectationFailed = "expectation-failed"
  case notImplemented = "not-implemented"
  case versionUnsupported = "version-unsupported"
  case rateLimited = "rate-limited"
  case signUpClosed = "sign-up-closed"
  case zoneFull = "zone-full"
  case accountElsewhere = "account-elsewhere"
  case passInvalid = "pass-invalid"
  case notAtHome = "not-at-home"
  case userUnreachable = "user-unreachable"
  case directoryUnavailable = "directory-unavailable"
  case zoneMoved = "zone-moved"

  /// The HTTP status of the code.
  public var status: Int { facts.status }
  /// A short summary, the same for every problem of the code.
  public var title: String { facts.title }
  /// The action that resolves the problem.
  public var remedy: String { facts.remedy }
  /// Whether the same request may succeed later.
  public var isTemporary: Bool {
    status == 408 || status == 429 || status >= 500 && status != 501 && status != 505
  }

  // The only table of problems. The documentation is generated from it.
  private var facts: (status: Int, title: String, remedy: String) {
    switch self {
    case .malformedJSON:
      (400, "The body is not valid JSON", "Send UTF-8 JSON (RFC 8259) without duplicate keys.")
    case .invalidRequest:
      (400, "The request is malformed", "See the protocol for the members and their types.")
    case .protocolUnsupported:
      (400, "The server does not support this protocol version", "Update the server or the app.")
    case .tokenMissing: (401, "No token was sent", "Sign in, and send Authorization: Bearer and the token.")
    case .tokenInvalid:
      (401, "The token is no longer valid", "Sign in again. The device keeps all its data.")
    case .ticketInvalid:
      (
        401, "The ticket was used, has expired, or its session has ended",
        "Ask for another one: POST /v1/events/tickets."
      )
    case .credentialsWrong:
      (401, "Name or password is wrong", "Check both. Names are lower-case.")
    case .nameTaken: (409, "The name is taken", "Choose another name, or sign in.")
    case .notFound: (404, "No resource has this address", "See the protocol for the addresses.")
    case .methodNotAllowed:
      (405, "The resource does not support this method", "Use a method listed in the Allow header.")
    case .requestTimeout: (408, "The request took too long to arrive", "Send it again.")
    case .deviceDiverged:
      (
        409, "The device's operation numbers were already used for other content",
        "The device is a copy. Request a new identity with POST /v1/devices."
      )
    case .bodyTooLarge: (413, "The body is too large", "Send fewer change sets in one request.")
    case .unsupportedMediaType: (415, "The body is not JSON", "Send Content-Type: application/json.")
    case .headersTooLarge: (431, "The request head is too large", "Send fewer or shorter headers.")
    case .targetTooLong: (414, "The request target is too long", "Send a shorter query.")
    case .expectationFailed:
      (417, "The Expect header is not supported", "Send Expect: 100-continue or no Expect header.")
    case .notImplemented:
      (
        501, "The server does not support this method or transfer coding",
        "Send the body with Content-Length or chunked."
      )
    case .versionUnsupported:
      (505, "The server does not support this HTTP version", "Use HTTP/1.1 or a proxy that speaks it.")
    case .busy:
      (503, "The server is overloaded or stopping", "Retry after the seconds in Retry-After.")
    case .storageFull:
      (507, "The server's disk is full", "Free disk space on the server, then retry.")
    case .internalError: (500, "The server failed", "Retry. The server's log has the details.")
    case .invalidOperation:
      (422, "An operation is malformed", "See the protocol for the members of an operation.")
    case .changeSetTooLarge: (422, "The change set has too many operations", "Write in smaller transactions.")
    case .unknownTable:
      (422, "The schema has no such table", "Check the name, or update the server's schema.")
    case .unknownColumn:
      (422, "The table has no such column", "Check the name, or update the server's schema.")
    case .invalidID: (422, "The id is not a lower-case UUID", "Create UUIDv7 ids (RFC 9562, section 5.7).")
    case .invalidValue:
      (422, "The value does not fit the column", "See the column's type and limits in the schema.")
    case .valueTooLong: (422, "The value is too long", "Shorten it to the limit of the column.")
    case .valueMissing: (422, "A required column has no value", "Give the column a value.")
    case .readOnlyTable: (422, "Only the server writes this table", "Leave it out of change sets.")
    case .recordExists: (409, "A record with this id already exists", "Create a new id.")
    case .recordUnknown:
      (404, "The record does not exist or you may not read it", "Check the id and your access to its zone.")
    case .referenceMissing:
      (422, "A reference does not name a live record", "Create the record first, or refer to another.")
    case .referenceRestricted: (409, "Other records still refer to the record", "Delete them first.")
    case .uniqueTaken: (409, "Another record has this unique value", "Choose another value.")
    case .roleInsufficient:
      (403, "Your role in this zone does not allow this", "Ask an owner of the zone for a higher role.")
    case .sharingLimit:
      (
        422, "A sharing limit is reached",
        "See detail for the limit. Remove members or share with a group."
      )
    case .invitationInvalid: (404, "The invitation is no longer valid", "Ask for a new invitation.")
    case .lastOwner:
      (
        409, "A zone must keep an owner",
        "Make another member an owner first. A user's own zone keeps its user."
      )
    case .userUnknown: (422, "No user has this name", "Check the account name.")
    case .recordDeleted:
      (
        410, "The record was deleted",
        "Drop your copy, or restore the record with POST to its address and /restore."
      )
    case .preconditionFailed:
      (
        412, "A precondition of the request failed",
        "Read the current record, then decide again."
      )
    case .requestIDReused:
      (
        422, "The request id was used for another request",
        "Create a new id for each request. Reuse it for retries only."
      )
    case .batchRefused:
      (
        422, "An operation was refused, so none was applied",
        "See errors. Correct or remove the operations that they name."
      )
    case .indexMissing:
      (
        422, "No index supports this filter",
        "Add the index named in detail to the schema, or change the filter."
      )
    case .resultTooLarge:
      (422, "The result has too many records", "Narrow the filter, or follow the zone's changes.")
    case .pageExpired: (410, "The page token has expired", "Request the first page again.")
    case .tokenFenced:
      (
        410, "The change token is older than the zone's purge horizon",
        "Resync the zone: read it again, without since."
      )
    case .notAcceptable:
      (406, "The resource is available as application/json only", "Send Accept: application/json.")
    case .rangeNotSatisfiable:
      (416, "The range lies outside the content", "See Content-Range for the length.")
    case .conflictResolved:
      (409, "The conflict is already resolved", "Read the current record. Edit it to change the outcome.")
    case .validationFailed:
      (422, "A validator of the server refused the record", "Change what detail names, then retry.")
    case .changeSetUncertain:
      (
        409, "The server may have this change set already",
        "Look at the current records. Resend the change set or discard it."
      )
    case .changeSetLost:
      (
        409, "The server confirmed this change set, then was restored from an older backup",
        "Look at the current records. Resend the change set or discard it."
      )
    case .alreadyApplied:
      (
        409, "The change set took effect before, sent by a copy of the device",
        "Roll its edits back, and drop it: the zone's changes have what it did."
      )
    case .zoneNotRecovered:
      (
        409, "The restored server does not have the zone, and nobody recovered it in time",
        "Resend the change set to create the zone again, or discard it."
      )
    case .tooManyAttempts:
      (429, "Too many attempts with wrong passwords", "Retry after the seconds in Retry-After.")
    case .tokenLimited:
      (403, "The token does not allow this", "Use a token with a wider scope.")
    case .appTooOld:
      (
        426, "The server no longer supports this version of the app",
        "Update the app. It keeps its unsent edits and sends them then."
      )
    case .rateLimited:
      (429, "Too many requests of this kind", "Retry after the seconds in Retry-After.")
    case .signUpClosed:
      (403, "Sign-up is closed", "Sign in with the identity provider, or ask the operator.")
    case .userLimit:
      (422, "A limit of the user is reached", "See detail for the limit. Remove what you no longer need.")
    case .zoneFull:
      (507, "The zone is full", "See detail for the limit. Delete records of the zone, then retry.")
    case .accountElsewhere:
      (421, "Another database takes this request", "Send it to the address in url.")
    case .passInvalid:
      (
        401, "The pass was used, has expired, or is for another database",
        "Ask the home for another one: POST /v1/passes."
      )
    case .notAtHome:
      (403, "Only the user's home takes this", "Send it to the home, which GET /v1/databases names.")
    case .userUnreachable:
      (
        409, "No user of this database has this name, and the directory does not answer",
        "Share again when the directory is back, or share by a link."
      )
    case .directoryUnavailable:
      (
        503, "The directory of the databases does not answer",
        "Retry after the seconds in Retry-After. Syncing, and signing in at the home, go on meanwhile."
      )
    case .zoneMoved:
      (
        421, "The zone has moved to another database",
        "Send it to the database that is named, whose address GET /v1/databases has."
      )
    }
  }
}

/// A problem: its code and details.
public struct Problem: Error, Hashable, Sendable {
  /// The stable code.
  public let code: ProblemCode
  /// Details for people; empty if the title is sufficient.
  public let detail: String
  /// The seconds to wait before a retry; nil if a retry does not help.
  public let retryAfter: Int?
  /// For `uniqueTaken`: the record that has the value, and a free value.
  public var taken: TakenValue?
  /// For `accountElsewhere`: the address of the other database.
  public var url: String?
  /// For `zoneMoved`: the name of the database to which the zone has moved.
  public var database: String?
  /// For `zoneMoved`: the zone, if it is known.
  public var zone: String?
  /// Whether the request may have had its effect all the same, and nobody can tell by repeating it. Then it is not answered.
  package var isUnsure = false

  /// Creates a problem.
  public init(_ code: ProblemCode, _ detail: String = "", retryAfter: Int? = nil) {
    self.code = code
    self.detail = detail.utf8.count <= Self.detailLimit ? detail : Self.shortened(detail)
    self.retryAfter = retryAfter
  }

  /// The maximum length of `detail` in bytes. It may quote a client's input, and is stored and sent back.
  static let detailLimit = 1024

  private static func shortened(_ detail: String) -> String {
    String(decoding: detail.utf8.prefix(detailLimit - 6), as: UTF8.self) + "\u{2026}"
  }
}

extension Problem: CustomStringConvertible {
  /// The problem and its remedy in one line.
  public var description: String {
    let detail = detail.hasSuffix(".") ? String(detail.dropLast()) : detail
    return "\(code.title)\(detail.isEmpty ? "" : ": \(detail)"). \(code.remedy)"
  }
}

extension Problem {
  /// A zone is in another database.
  package init(moved zone: String, to database: String) {
    self.init(.zoneMoved, "It is in the database \(database).")
    (self.zone, self.database) = (zone, database)
  }
}
