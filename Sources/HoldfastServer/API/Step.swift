import HoldfastCore
import HoldfastHTTP

/// What comes next for a request. The API decides; a shell with threads, or one without, performs it.
enum Step: Sendable {
  /// The answer is there.
  case answer(HTTPResponse)
  /// The command is to be applied; the answer is made of its outcome, wherever the shell likes.
  case write(Command, @Sendable (Result<Outcome, Problem>) -> HTTPResponse)
  /// A stream of events to a device, from after an event that it had.
  case events(DeviceKey, lastEventID: String?)
  /// Takes tens of milliseconds and much memory: a password is hashed.
  case password(@Sendable () -> Step)
  /// Takes as long as the answer of somebody else's server.
  case fetch(@Sendable () -> Step)
  /// The command is to be applied first; what comes then is decided by its outcome.
  case first(Command, @Sendable (Result<Outcome, Problem>) -> Step)
  /// Takes longer than the sender of another request may be kept waiting: much is read.
  case read(@Sendable () -> Step)
  /// Takes seconds and much disk: a snapshot is built. One after the other.
  case build(@Sendable () -> Step)

  /// Answers with a problem.
  static func problem(_ problem: Problem) -> Step { .answer(.problem(problem)) }
}

extension HTTPResponse {
  /// A problem document (RFC 9457) with what belongs in the head for its code.
  ///
  /// - Parameter document: the document, where it has further members.
  static func problem(
    _ problem: Problem, allow: String? = nil, document: [UInt8]? = nil
  ) -> HTTPResponse {
    var headers = [("Content-Type", "application/problem+json"), ("Cache-Control", "no-store")]
    if let seconds = problem.retryAfter { headers.append(("Retry-After", String(seconds))) }
    if let allow { headers.append(("Allow", allow)) }
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
  static func failure(status: Int) -> HTTPResponse {
    switch status {
    case 408: .problem(Problem(.requestTimeout))
    case 413: .problem(Problem(.bodyTooLarge))
    case 415: .problem(Problem(.unsupportedMediaType, "Content-Encoding may be gzip or zstd."))
    case 431: .problem(Problem(.headersTooLarge))
    case 501: .problem(Problem(.invalidRequest, "This transfer coding is not spoken here."))
    case 503: .problem(Problem(.busy, retryAfter: 1))
    case 500: .problem(Problem(.internalError))
    default:
      .problem(
        Problem(.invalidRequest, "The request is no HTTP/1.1, or its Content-Encoding is not what it says."))
    }
  }
}
