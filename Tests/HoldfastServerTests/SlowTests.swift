import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastSystem
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the log says of slow requests and statements, and of traces.
@Suite struct SlowTests {
  private static let trace = "0af7651916cd43dd8448eb211c80319c"
  private static let field = "00-\(trace)-b7ad6b7169203331-01"

  @Test("slow requests and statements are logged with trace and plan, and without what a user wrote (I10)")
  func logged() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-slow-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let log = Mutex<[String]>([])
    var configuration = Configuration(
      schema: try TestServer.schema(), database: try Engine.used.makeLocation(in: folder),
      environment: .system, log: { line in log.withLock { $0.append(line) } })
    configuration.slowLimit = .zero
    let server = try Server(configuration)
    let session = try await send(
      server, "accounts", #"{"name":"alice-of-the-test","password":"correct horse","device":{"name":"p"}}"#)
    _ = try await send(
      server, "tables/lists", #"{"columns":{"title":"nobodys business"}}"#,
      as: session["token"]?.stringValue)
    server.stop()
    let lines = try log.withLock { $0 }.map { try JSONValue(parsing: Array($0.utf8)) }
    let requests = lines.filter { $0["event"]?.stringValue == "request" }
    #expect(requests.count == 2)
    for request in requests {
      #expect(request["slow"]?.boolValue == true)
      #expect(request["trace_id"]?.stringValue == Self.trace)
      #expect(request["level"]?.stringValue == "warning")
    }
    let statements = lines.filter { $0["event"]?.stringValue == "slow_statement" }
    #expect(statements.contains { $0["statement"]?.stringValue?.contains("INSERT INTO") ?? false })
    #expect(statements.contains { !($0["plan"]?.elements ?? []).isEmpty })
    for text in ["nobodys business", "alice-of-the-test", "correct horse"] {
      #expect(!log.withLock { $0 }.contains { $0.contains(text) }, "\(text)")
    }
  }

  @Test("nothing is slow where no limit is set")
  func off() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-slow-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let log = Mutex<[String]>([])
    var configuration = Configuration(
      schema: try TestServer.schema(), database: try Engine.used.makeLocation(in: folder),
      environment: .system, log: { line in log.withLock { $0.append(line) } })
    configuration.slowLimit = nil
    let server = try Server(configuration)
    _ = try await send(server, "sessions", "{}")
    server.stop()
    #expect(!log.withLock { $0 }.contains { $0.contains(#""slow"#) })
  }

  private func send(
    _ server: Server, _ path: String, _ body: String, as token: String? = nil
  ) async throws -> JSONValue {
    var request = URLRequest(url: try #require(URL(string: server.url + "/v1/" + path)))
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    request.setValue(Self.field, forHTTPHeaderField: "traceparent")
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    request.httpBody = Data(body.utf8)
    return try JSONValue(parsing: Array(try await URLSession.shared.data(for: request).0))
  }

  @Test("a text is reported once a minute, and 64 texts in all, however many are slow (I11)")
  func bounded() {
    let reports = Mutex<[SlowStatements.Report]>([])
    let slow = SlowStatements(over: .seconds(1)) { report in reports.withLock { $0.append(report) } }
    let start = ContinuousClock.now
    func report(_ sql: String, after seconds: Int) {
      slow.report(sql, took: .seconds(2), at: start + .seconds(seconds)) {
        Array(repeating: String(repeating: "x", count: 500), count: 500)
      }
    }
    for second in [0, 1, 59, 61] { report("SELECT 1", after: second) }
    #expect(reports.withLock { $0.map(\.unreported) } == [0, 2])
    for number in 0..<200 { report("SELECT \(number), '\(String(repeating: "y", count: 9000))'", after: 62) }
    let all = reports.withLock { $0 }
    #expect(all.count == 2 + 63)
    #expect(all.allSatisfy { $0.sql.count <= SlowStatements.textLimit })
    #expect(all.allSatisfy { $0.plan.count <= 40 && $0.plan.allSatisfy { $0.count <= 200 } })
    report("SELECT later", after: 200)
    #expect(reports.withLock { $0.count } == 66)
  }

  /// Fields, and whether they count.
  private static let fields: [(String, Bool)] = [
    (field, true), ("00-\(trace)-b7ad6b7169203331-00", true),
    ("cc-\(trace)-b7ad6b7169203331-01-what-the-future-brings", true),
    ("cc-\(trace)-b7ad6b7169203331-01", true), ("cc-\(trace)-b7ad6b7169203331-01.x", false),
    ("00-\(trace)-b7ad6b7169203331-01-x", false), ("ff-\(trace)-b7ad6b7169203331-01", false),
    ("00-\(trace.uppercased())-b7ad6b7169203331-01", false),
    ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
    ("00-\(trace)-0000000000000000-01", false), ("00-\(trace)-b7ad6b7169203331", false),
    ("00-\(trace)-b7ad6b7169203331-0g", false), ("0-\(trace)-b7ad6b7169203331-011", false), ("", false),
    ("\(field), \(field)", false), ("é\(field.dropFirst())", false),
    ("cc-\(trace)-b7ad6b7169203331-01-\(String(repeating: "x", count: 500))", false),
  ]

  @Test("a traceparent counts only in the form of its version", arguments: fields)
  func strict(_ text: String, _ isGood: Bool) {
    var headers = HTTPHeaders()
    headers.append(name: "Traceparent", value: text)
    #expect((TraceContext(headers) != nil) == isGood)
    headers.append(name: "traceparent", value: text)
    #expect(TraceContext(headers) == nil)
  }

  @Test("the webhook's call is in the trace of the writes, if it is one")
  func common() throws {
    func trace(_ digit: String) throws -> TraceContext {
      var headers = HTTPHeaders()
      let id = String(repeating: digit, count: 32)
      headers.append(name: "traceparent", value: "00-\(id)-b7ad6b7169203331-01")
      return try #require(TraceContext(headers))
    }
    let (one, two) = (try trace("1"), try trace("2"))
    var traces = ZoneTraces()
    for (zone, trace) in [("a", one), ("b", one), ("c", two)] { traces.note(trace, of: zone) }
    #expect(traces.common(to: ["a", "b"]) == one)
    #expect(traces.common(to: ["a", "c"]) == nil)
    #expect(traces.common(to: ["a", "untraced"]) == nil)
    traces.note(two, of: "b")
    traces.notified(["a", "b"], in: one)
    #expect(traces.common(to: ["a"]) == nil)
    #expect(traces.common(to: ["b"]) == two)
    for number in 0..<ZoneTraces.limit * 2 { traces.note(two, of: "zone \(number)") }
    #expect(traces.common(to: ["zone \(ZoneTraces.limit * 2 - 1)"]) == two)
    let writes: [(device: Int64?, trace: TraceContext?)] = [(1, one), (2, nil), (nil, one)]
    let commit = CommitTraces(writes)
    #expect(commit.trace(ofDevice: 1) == one)
    #expect(commit.trace(ofDevice: 2) == nil)
    #expect(commit.trace(ofDevice: nil) == nil)
    #expect(CommitTraces([writes[0], writes[2]]).trace(ofDevice: nil) == one)
    #expect(
      one.field(span: [0, 0, 0, 0, 0, 0, 0, 255]).value
        == "00-\(one.traceID)-00000000000000ff-01")
    #expect(one.field(span: Array(repeating: 0, count: 8)).value.contains("-0101010101010101-"))
  }
}
