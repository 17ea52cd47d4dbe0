import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// What comes next for a request. The API decides; a shell with threads, or one without, performs it.
enum Step: Sendable {
  /// The answer is there.
  case answer(HTTPResponse)
  /// The command is to be applied; the answer is made of its outcome, wherever the shell likes.
  case write(ServiceCommand, @Sendable (Result<Outcome, Problem>) -> HTTPResponse)
  /// A stream of events to a device, from after an event that it had.
  case events(DeviceKey, lastEventID: String?)
  /// Takes tens of milliseconds and much memory: a password is hashed.
  case password(@Sendable () -> Step)
  /// The same for an account that is made: it waits with its like, and keeps nobody from signing in.
  case signUp(@Sendable () -> Step)
  /// Takes as long as the answer of somebody else's server.
  case fetch(@Sendable () -> Step)
  /// The command is to be applied first; what comes then is decided by its outcome.
  case first(ServiceCommand, @Sendable (Result<Outcome, Problem>) -> Step)
  /// Reads what a device has, with others that have come at the same time.
  case look(LookUp, @Sendable () -> Step)
  /// Takes longer than the sender of another request may be kept waiting: much is read.
  case read(@Sendable () -> Step)
  /// Takes seconds and much disk: a snapshot is built. One after the other.
  case build(@Sendable () -> Step)

  /// Answers with a problem.
  static func problem(_ problem: Problem) -> Step { .answer(.problem(problem)) }
}

extension HTTPResponse {
  /// The media types of a PATCH: RFC 5789, section 3.1.
  static let acceptPatch = (name: "Accept-Patch", value: "application/json, application/merge-patch+json")

  /// A problem document (RFC 9457) with what belongs in the head for its code.
  ///
  /// - Parameter document: the document, where it has further members.
  static func problem(
    _ problem: Problem, allow: String? = nil, document: [UInt8]? = nil
  ) -> HTTPResponse {
    var headers: [(name: String, value: String)] = [
      ("Content-Type", "application/problem+json"), ("Cache-Control", "no-store"),
    ]
    if let seconds = problem.retryAfter { headers.append(("Retry-After", String(seconds))) }
    if let allow { headers.append(("Allow", allow)) }
    if problem.code == .unsupportedMediaType {
      headers += [("Accept", "application/json"), acceptPatch]
    }
    if problem.code.status == 401 { headers.append(("WWW-Authenticate", "Bearer")) }
    return HTTPResponse(status: problem.code.status, headers: headers, body: document ?? problem.document)
  }

  /// A JSON text.
  static func json(status: Int = 200, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: body)
  }

  /// An answer that says all by its status.
  static func empty(status: Int) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Cache-Control", "no-store")])
  }

  /// The answer of the HTTP layer itself to what never became a request.
  static func failure(_ failure: HTTPFailure) -> HTTPResponse {
    switch failure.status {
    case 408: return .problem(Problem(.requestTimeout))
    case 413: return .problem(Problem(.bodyTooLarge))
    case 414: return .problem(Problem(.targetTooLong))
    case 415:
      // Which of the two is meant, the field tells: RFC 9110, section 12.5.3.
      var response = HTTPResponse.problem(
        Problem(.unsupportedMediaType, "Content-Encoding may be gzip or zstd."))
      response.headers.removeAll { $0.name == "Accept" || $0.name == "Accept-Patch" }
      response.headers.append(("Accept-Encoding", "zstd, gzip"))
      return response
    case 417: return .problem(Problem(.expectationFailed))
    case 431: return .problem(Problem(.headersTooLarge))
    case 501: return .problem(Problem(.notImplemented))
    case 503: return .problem(Problem(.busy, retryAfter: 1))
    case 505: return .problem(Problem(.versionUnsupported))
    case 500: return .problem(Problem(.internalError))
    default:
      return .problem(
        Problem(.invalidRequest, "The request is no HTTP/1.1, or its Content-Encoding is not what it says."))
    }
  }
}
