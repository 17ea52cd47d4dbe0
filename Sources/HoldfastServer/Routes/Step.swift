import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The next step of a request. The API decides; a runtime, with or without threads, performs it.
enum Step: Sendable {
  /// The answer is ready.
  case answer(HTTPResponse)
  /// Apply the command and make the answer from its outcome, on any thread.
  case write(ServiceCommand, @Sendable (Result<Outcome, Problem>) -> HTTPResponse)
  /// Open an event stream to a device, continuing after an event id.
  case events(DeviceKey, lastEventID: String?)
  /// Takes tens of milliseconds and much memory: hashes a password.
  case password(@Sendable () -> Step)
  /// The same for a new account. It has a queue of its own, so that sign-ups do not delay sign-ins.
  case signUp(@Sendable () -> Step)
  /// Waits for another server.
  case fetch(Asker, @Sendable () -> Step)
  /// Apply the command first. Its outcome decides the next step.
  case first(ServiceCommand, @Sendable (Result<Outcome, Problem>) -> Step)
  /// Reads what a device has, with others that have come at the same time.
  case look(LookUp, @Sendable () -> Step)
  /// A long read, which would delay other requests.
  case read(@Sendable () -> Step)
  /// Takes seconds and much disk: builds a snapshot. One at a time.
  case build(@Sendable () -> Step)

  /// For whom another server is asked. Each has a queue, so that strangers delay no sessions.
  enum Asker: Sendable {
    /// A client of whom no session is known.
    case stranger
    case session
    /// A request that has stored something already, and is not refused.
    case begun
  }

  /// The same step, with its answer changed. A stream of events has none.
  func answering(_ change: @escaping @Sendable (HTTPResponse) -> HTTPResponse) -> Step {
    switch self {
    case .answer(let response): .answer(change(response))
    case .write(let command, let answer): .write(command) { change(answer($0)) }
    case .events: self
    case .password(let work): .password { work().answering(change) }
    case .signUp(let work): .signUp { work().answering(change) }
    case .fetch(let asker, let work): .fetch(asker) { work().answering(change) }
    case .first(let command, let next): .first(command) { next($0).answering(change) }
    case .look(let lookUp, let work): .look(lookUp) { work().answering(change) }
    case .read(let work): .read { work().answering(change) }
    case .build(let work): .build { work().answering(change) }
    }
  }

  /// Answers with a problem.
  static func problem(_ problem: Problem) -> Step { .answer(.problem(problem)) }
}

extension HTTPResponse {
  /// The accepted media types of a PATCH: RFC 5789, section 3.1.
  static let acceptPatch = (name: "Accept-Patch", value: "application/json, application/merge-patch+json")

  /// A problem document (RFC 9457) with the header fields for its code.
  ///
  /// - Parameter document: the encoded document, if it has further members.
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
    var response = HTTPResponse(
      status: problem.code.status, headers: headers, body: document ?? problem.document)
    response.reason = problem.code.rawValue
    response.isCut = problem.isUnsure
    return response
  }

  /// A JSON answer.
  static func json(status: Int = 200, _ body: [UInt8]) -> HTTPResponse {
    HTTPResponse(
      status: status, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
      body: body)
  }

  /// An answer without content.
  static func empty(status: Int) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Cache-Control", "no-store")])
  }

  /// The answer to a request that the HTTP layer itself refuses.
  static func failure(_ failure: HTTPFailure) -> HTTPResponse {
    switch failure.status {
    case 408: return .problem(Problem(.requestTimeout))
    case 413: return .problem(Problem(.bodyTooLarge))
    case 414: return .problem(Problem(.targetTooLong))
    case 415:
      // Accept-Encoding shows that the content coding is meant, not the media type: RFC 9110, section 12.5.3.
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
