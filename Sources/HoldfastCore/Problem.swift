/// What went wrong, by a stable code: the `code` of a problem document (RFC 9457).
public enum ProblemCode: String, Sendable, CaseIterable {
  case malformedJSON = "malformed-json"
  case invalidRequest = "invalid-request"
  case protocolUnsupported = "protocol-unsupported"
  case tokenMissing = "token-missing"
  case tokenInvalid = "token-invalid"
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

  /// The HTTP status that goes with the code.
  public var status: Int { facts.status }
  /// The problem in a few words, the same each time.
  public var title: String { facts.title }
  /// What to do about it.
  public var remedy: String { facts.remedy }
  /// Whether the same request may succeed later.
  public var isTemporary: Bool {
    status == 408 || status == 429 || status >= 500 && status != 501 && status != 505
  }

  // The one table of problems; the documentation is made from it.
  private var facts: (status: Int, title: String, remedy: String) {
    switch self {
    case .malformedJSON:
      (400, "The body is no valid JSON", "Send UTF-8 JSON as RFC 8259 has it, without duplicate keys.")
    case .invalidRequest:
      (400, "The request has a wrong form", "See the protocol for the members and their types.")
    case .protocolUnsupported:
      (400, "This version of the protocol is not spoken here", "Update the server or the app.")
    case .tokenMissing: (401, "No token was sent", "Sign in, and send Authorization: Bearer and the token.")
    case .tokenInvalid:
      (401, "The token is not valid any more", "Sign in again; nothing on the device is lost.")
    case .credentialsWrong:
      (401, "Name or password is wrong", "Check both; letters of the name are lower-case.")
    case .nameTaken: (409, "The name is taken", "Choose another name, or sign in.")
    case .notFound: (404, "There is nothing at this address", "See the protocol for the addresses.")
    case .methodNotAllowed: (405, "This address has no such method", "Use a method named in Allow.")
    case .requestTimeout: (408, "The request took too long to arrive", "Send it again.")
    case .deviceDiverged:
      (
        409, "The device's numbers were used for other content",
        "It is a copy: ask for a new identity at POST /v1/devices."
      )
    case .bodyTooLarge: (413, "The body is too large", "Send fewer change sets in one request.")
    case .unsupportedMediaType: (415, "The body is not JSON", "Send Content-Type: application/json.")
    case .headersTooLarge: (431, "The head of the request is too large", "Send fewer or shorter headers.")
    case .targetTooLong: (414, "The address of the request is too long", "Send a shorter query.")
    case .expectationFailed: (417, "The expectation is not known here", "Expect 100-continue, or nothing.")
    case .notImplemented:
      (
        501, "The server does not have this method or transfer coding",
        "Send the content as it is, or chunked."
      )
    case .versionUnsupported:
      (505, "This version of HTTP is not spoken here", "Speak HTTP/1.1, or ask a proxy in front.")
    case .busy:
      (503, "The server has too much to do or is stopping", "Send it again after Retry-After seconds.")
    case .storageFull:
      (507, "The server's disk is full", "Free some space on the server; then send it again.")
    case .internalError: (500, "The server failed", "Send it again; the server's log says more.")
    case .invalidOperation:
      (422, "An operation has a wrong form", "See the protocol for the members of operations.")
    case .changeSetTooLarge: (422, "The change set has too many operations", "Write in smaller transactions.")
    case .unknownTable:
      (422, "The schema has no such table", "Check the name, or update the server's schema.")
    case .unknownColumn:
      (422, "The table has no such column", "Check the name, or update the server's schema.")
    case .invalidID: (422, "The id is no lower-case UUID", "Make ids as RFC 9562, section 5.7, has them.")
    case .invalidValue:
      (422, "The value does not fit the column", "See the column's type and limits in the schema.")
    case .valueTooLong: (422, "The value is too long", "Shorten it to the limit of the column.")
    case .valueMissing: (422, "A required column has no value", "Give the column a value.")
    case .readOnlyTable: (422, "The table is written by the server alone", "Leave it out of change sets.")
    case .recordExists: (409, "A record with this id exists already", "Make a new id.")
    case .recordUnknown: (404, "There is no such record here", "It may be gone, or never was yours to see.")
    case .referenceMissing:
      (422, "A reference names no live record here", "Create the record first, or refer to another.")
    case .referenceRestricted: (409, "Other records still refer to the record", "Delete them first.")
    case .uniqueTaken: (409, "Another record has this unique value", "Choose another value.")
    case .roleInsufficient:
      (403, "Your role in this zone does not allow this", "Ask an owner of the zone for a greater role.")
    case .sharingLimit:
      (
        422, "Something is shared with too many",
        "detail names the limit; take somebody out, or share with a group."
      )
    case .invitationInvalid: (404, "The invitation is not good any more", "Ask for another one.")
    case .lastOwner: (409, "A zone must keep an owner", "Make somebody else an owner first.")
    case .userUnknown: (422, "There is no user of this name", "Check the name; it is the one of the account.")
    case .recordDeleted:
      (410, "The record was deleted", "Forget it, or bring it back with POST to its address and /restore.")
    case .preconditionFailed:
      (
        412, "The record is not as the request expects it",
        "Look at the record as it is now; then decide again."
      )
    case .requestIDReused:
      (
        422, "The request id was used for another request",
        "Make a new id for each request; keep it for repeats."
      )
    case .batchRefused:
      (
        422, "One of the operations was refused, so none was applied",
        "See errors; mend or leave out what they name."
      )
    case .indexMissing:
      (
        422, "No index answers this filter",
        "Add the index named in detail to the schema, or filter otherwise."
      )
    case .resultTooLarge:
      (422, "The result has too many records", "Filter more, or follow the zone's changes.")
    case .pageExpired: (410, "The pages of this result are gone", "Ask for the first page again.")
    case .tokenFenced:
      (410, "The change token is older than what the zone remembers", "Begin the zone anew, without since.")
    case .notAcceptable: (406, "No form that Accept names is made here", "Accept application/json.")
    case .rangeNotSatisfiable:
      (416, "The content has no byte of this range", "Content-Range says how many it has.")
    case .conflictResolved:
      (409, "Somebody else has chosen already", "Look at the record as it is now; an edit of it changes it.")
    case .validationFailed:
      (422, "A rule of the server refuses the record", "Change what detail names, and send it again.")
    case .changeSetUncertain:
      (
        409, "The device that this one is a copy of may have sent this already",
        "Look at the records as they are now; send it again, or discard it."
      )
    case .changeSetLost:
      (
        409, "The server confirmed this, and was restored from a backup that does not have it",
        "Look at the records as they are now; send it again, or discard it."
      )
    case .zoneNotRecovered:
      (
        409, "A restored server does not know the zone, and nobody recovered it in time",
        "Send it again to make it anew, or discard it."
      )
    case .tooManyAttempts:
      (429, "There were too many wrong passwords", "Wait for Retry-After seconds; then try again.")
    case .tokenLimited:
      (403, "The token is not good for this", "Use another token; this one is limited by what it is for.")
    case .appTooOld:
      (
        426, "This version of the app is not served any more",
        "Update the app; what it wrote is kept, and sent then."
      )
    case .rateLimited:
      (429, "This was asked for too often", "Wait for Retry-After seconds; then try again.")
    case .signUpClosed:
      (403, "Nobody makes an account here", "Sign in with the identity provider, or ask the operator.")
    case .userLimit:
      (422, "A limit of the user is reached", "detail names it; give up what is not needed.")
    }
  }
}

/// A problem: its code, and what in particular is wrong.
public struct Problem: Error, Hashable, Sendable {
  /// The stable code.
  public let code: ProblemCode
  /// What in particular is wrong, for a person; empty when the title says it all.
  public let detail: String
  /// After how many seconds sending again makes sense, where waiting helps.
  public let retryAfter: Int?
  /// Of `uniqueTaken`, who has the value, and which one is free.
  public var taken: TakenValue?

  /// A problem of its parts.
  public init(_ code: ProblemCode, _ detail: String = "", retryAfter: Int? = nil) {
    self.code = code
    self.detail = detail.utf8.count <= Self.detailLimit ? detail : Self.shortened(detail)
    self.retryAfter = retryAfter
  }

  /// The greatest length of `detail` in bytes: it may quote what a client sent, and is kept and sent back.
  static let detailLimit = 1024

  private static func shortened(_ detail: String) -> String {
    String(decoding: detail.utf8.prefix(detailLimit - 6), as: UTF8.self) + "\u{2026}"
  }
}

extension Problem: CustomStringConvertible {
  /// The problem and what to do about it, in one line.
  public var description: String {
    let detail = detail.hasSuffix(".") ? String(detail.dropLast()) : detail
    return "\(code.title)\(detail.isEmpty ? "" : ": \(detail)"). \(code.remedy)"
  }
}
