import HoldfastCore
import HoldfastHTTP
import HoldfastService
import HoldfastSystem

/// The log: one JSON object per line. It contains no secrets and no user data.
struct RequestLog: Sendable {
  private let write: @Sendable (String) -> Void
  private let now: @Sendable () -> Int64
  /// Lines below are not written.
  private let least: LogLevel
  /// Requests that took longer are marked as slow; nil for none.
  private let slow: Duration?

  init(
    _ write: @escaping @Sendable (String) -> Void, from least: LogLevel,
    slow: Duration?, now: @escaping @Sendable () -> Int64
  ) {
    self.write = write
    self.least = least
    self.slow = slow
    self.now = now
  }

  /// Logs an event of the server itself.
  func event(_ event: StaticString, level: LogLevel = .info, _ text: String = "") {
    if level < least { return }
    var writer = begin(event, level: level)
    if !text.isEmpty {
      writer.key("message")
      writer.string(text)
    }
    finish(&writer)
  }

  /// Logs an answered request.
  func request(_ entry: Entry, _ result: Result) {
    let duration = entry.started.duration(to: .now)
    let isSlow = slow.map { duration >= $0 } ?? false
    let level: LogLevel =
      result.isFailure ? .error : isSlow || result.isCut ? .warning : entry.isHealthCheck ? .debug : .info
    if level < least { return }
    var writer = begin("request", level: level)
    writer.key("method")
    writer.string(Self.bounded(entry.method, 16))
    writer.key("path")
    writer.string(Self.bounded(entry.path, 128))
    writer.key("status")
    writer.int64(Int64(result.status))
    if let problem = result.problem {
      writer.key("problem")
      writer.string(problem)
    }
    writer.key("duration_us")
    writer.int64(duration.inMicroseconds)
    if isSlow {
      writer.key("slow")
      writer.bool(true)
    }
    if result.isCut {
      writer.key("cut")
      writer.bool(true)
    }
    writer.key("bytes")
    writer.int64(result.bytes)
    if let device = entry.device {
      writer.key("device")
      writer.int64(device)
    }
    writer.key("address")
    writer.string(entry.address)
    if let scheme = entry.scheme {
      writer.key("scheme")
      writer.string(scheme)
    }
    writer.key("request_id")
    writer.string(entry.id)
    if let trace = entry.trace {
      writer.key("trace_id")
      writer.string(trace.traceID)
    }
    finish(&writer)
  }

  /// Logs a statement that took too long, with its plan.
  func slow(_ report: SlowStatements.Report) {
    if LogLevel.warning < least { return }
    var writer = begin("slow_statement", level: .warning)
    writer.key("duration_us")
    writer.int64(report.duration.inMicroseconds)
    writer.key("statement")
    writer.string(report.sql)
    writer.key("plan")
    writer.beginArray()
    for line in report.plan { writer.string(line) }
    writer.endArray()
    writer.key("unreported")
    writer.int64(Int64(report.unreported))
    finish(&writer)
  }

  /// The first `limit` characters of a text. A text of at most `limit` bytes is returned unchanged.
  private static func bounded(_ text: some StringProtocol, _ limit: Int) -> String {
    text.utf8.count <= limit ? String(text) : String(text.prefix(limit))
  }

  /// The log entry of a request, before its answer.
  struct Entry: Sendable {
    let id: String
    let method: String
    /// Without the query.
    var path: Substring
    /// Whether it is one of the addresses that proxies and supervisors ask all the time.
    var isHealthCheck: Bool { path == "/healthz" || path == "/readyz" }
    /// Whether it only reads, also where the server keeps something for later pages.
    var isRead: Bool { method == "GET" || method == "HEAD" }
    /// The address of the client.
    let address: String
    /// The scheme that the client used, according to a trusted proxy; nil if not stated.
    let scheme: String?
    /// The trace that the request belongs to; nil for none.
    let trace: TraceContext?
    let started: ContinuousClock.Instant
    /// The CORS headers of the answer.
    let crossOrigin: [(name: String, value: String)]
    /// The client whose share of the queues the request uses.
    let client: Client
    /// The server's number of the device, if the request has a valid token.
    var device: Int64?

    /// The payers that the unsent answer counts for. Both are charged: a user may have many addresses, and an address many users.
    var payers: [String] { [IPAddress.network(of: address), client.user].compactMap { $0 } }
  }

  /// What was sent as the answer to a request.
  struct Result {
    let status: Int
    /// The code of its problem; nil for an answer that is none.
    var problem: String?
    /// The size of the content in bytes.
    var bytes: Int64 = 0
    /// Whether the connection was cut instead, as there was no memory for the answer.
    var isCut = false

    /// The result that nothing of the answer was sent.
    var cut: Result { Result(status: status, problem: problem, isCut: true) }

    /// Whether the server or its operator must do something about it. Clients alone cause some answers with 5xx.
    var isFailure: Bool { status >= 500 && !(problem.map(Self.causedByClients.contains) ?? false) }

    private static let causedByClients = TextSet(
      [ProblemCode.zoneFull, .notImplemented, .versionUnsupported].map(\.rawValue))
  }

  private func begin(_ event: StaticString, level: LogLevel) -> JSONWriter {
    Self.beginLine(event, level: level, at: now())
  }

  /// The start of a line: time, level and event.
  static func beginLine(_ event: StaticString, level: LogLevel, at now: Int64) -> JSONWriter {
    var writer = JSONWriter(capacity: 320)
    writer.beginObject()
    writer.key("time")
    writer.string(Timestamp.text(milliseconds: now))
    writer.key("level")
    writer.string(level.rawValue)
    writer.key("event")
    writer.string(event.description)
    return writer
  }

  private func finish(_ writer: inout JSONWriter) {
    writer.endObject()
    write(writer.withBytes { String(decoding: $0, as: UTF8.self) })
  }
}

extension Duration {
  fileprivate var inMicroseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
  }
}

extension RequestLog.Result {
  /// The result that an answer is sent.
  init(_ response: HTTPResponse) {
    self.init(status: response.status, problem: response.reason, bytes: response.contentLength)
  }
}
