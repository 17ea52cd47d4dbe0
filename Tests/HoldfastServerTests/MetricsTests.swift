import Foundation
import FoundationNetworking
import HoldfastCore
import HoldfastService
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

@Suite("Metrics") struct MetricsTests {
  private static let gauges = Gauges(
    queues: [("writes", 3)], connections: 2, streams: 1, snapshotBytes: nil, devices: nil, droppedLogLines: 0)

  private static func sample(_ text: String, _ name: String) -> String? {
    text.split(separator: "\n").first { $0.hasPrefix("\(name) ") }.map {
      String($0.dropFirst(name.utf8.count + 1))
    }
  }

  @Test("buckets of a histogram are cumulative, and the last has all")
  func histogram() {
    let metrics = Metrics()
    let request = Metrics.Request(route: "/v1/sync", method: "POST", status: 200)
    for seconds in [0.0001, 0.001, 0.3, 60] { metrics.answered(request, seconds: seconds, problem: nil) }
    let text = metrics.text(Self.gauges)
    let labels = #"route="/v1/sync",method="POST",status="200""#
    func bucket(_ bound: String) -> String? {
      Self.sample(text, "holdfast_request_seconds_bucket{\(labels),le=\"\(bound)\"}")
    }
    #expect(bucket("0.0005") == "1")
    #expect(bucket("0.001") == "2")
    #expect(bucket("0.25") == "2")
    #expect(bucket("0.5") == "3")
    #expect(bucket("10") == "3")
    #expect(bucket("+Inf") == "4")
    #expect(Self.sample(text, "holdfast_request_seconds_count{\(labels)}") == "4")
    #expect(Self.sample(text, "holdfast_queue_jobs{queue=\"writes\"}") == "3")
  }

  @Test("devices are counted by their lag, and only those that count hold the purge (I11)")
  func devices() throws {
    let day: Int64 = 86_400_000
    let devices = [0, 1, 99, 100, 20_000, 50_000].enumerated().map { number, changes in
      DeviceLag(
        id: "\(number)", name: "", seenAt: (100 - Int64(number) * 20) * day, client: nil,
        changes: Int64(changes))
    }
    let figures = DeviceFigures(devices, now: 101 * day, life: .seconds(90 * 86_400))
    #expect(figures.byLag.map(\.count) == [1, 2, 1, 1, 1])
    #expect(figures.greatestLag == 20_000)
    #expect(figures.horizon == 20 * 86_400)
    #expect(DeviceFigures([], now: 5000, life: .seconds(1)).horizon == 5)
    let counted = Mutex(0)
    let kept = KeptDeviceFigures {
      counted.withLock { $0 += 1 }
      return figures
    }
    let now = ContinuousClock.now
    for second in [0, 1, 59, 60, 61] { #expect(kept.figures(at: now + .seconds(second)) != nil) }
    #expect(counted.withLock { $0 } == 2)
    let text = Metrics().text(
      Gauges(
        queues: [], connections: 0, streams: 0, snapshotBytes: nil, devices: figures, droppedLogLines: 0))
    #expect(Self.sample(text, #"holdfast_devices{lag="1-99"}"#) == "2")
  }

  @Test("the start of the process is that of the system's list of processes")
  func processStart() throws {
    let figures = try #require(ProcessFigures())
    let stat = try String(contentsOfFile: "/proc/stat", encoding: .utf8)
    let boot = try #require(stat.split(separator: "\n").first { $0.hasPrefix("btime ") })
    let own = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8)
    let fields = own[own.index(after: try #require(own.lastIndex(of: ")")))...].split(separator: " ")
    let start = try #require(Double(boot.dropFirst(6))) + #require(Double(fields[19])) / 100
    #expect(abs(figures.startSeconds - start) < 5)
  }

  @Test("every name is described once, before its samples, and labels are escaped")
  func form() {
    var text = PrometheusText()
    text.add("a_total", "counter", "Help.", [([("l", "a\"b\\c\nd")], 1)])
    #expect(text.text == "# HELP a_total Help.\n# TYPE a_total counter\na_total{l=\"a\\\"b\\\\c\\nd\"} 1\n")
    let lines = Metrics().text(Self.gauges).split(separator: "\n")
    let names = lines.filter { $0.hasPrefix("# TYPE ") }.map { String($0.split(separator: " ")[2]) }
    #expect(TextSet(names).count == names.count)
    for line in lines where !line.hasPrefix("#") {
      #expect(names.contains { line.hasPrefix($0) }, "\(line)")
    }
  }

  @Test("paths that nobody serves share one label, however many there are (I11)")
  func bounded() throws {
    let schema = try MergeSchema.schema()
    for path in ["/", "/v1/x", "/v1/tables/none", "/v1/tables/none/1", "/%", "/v1/zones/a/b/c/d"] {
      #expect(Address.route(of: path[...], in: schema) == "other")
    }
    let table = try #require(schema.tables.first { !$0.isBuiltIn }).name
    for id in ["1", "2"] {
      #expect(Address.route(of: "/v1/tables/\(table)/\(id)", in: schema) == "/v1/tables/{table}/{id}")
    }
    #expect(Metrics.method("BREW") == "other")
  }

  @Test("every address of the OpenAPI document has its own template")
  func routes() throws {
    let schema = try MergeSchema.schema()
    for path in OpenAPIDocument(schema).paths {
      let example = path.address.split(separator: "/").map { $0.hasPrefix("{") ? "x" : String($0) }
      #expect(
        Address.route(of: "/\(example.joined(separator: "/"))"[...], in: schema) != "other", "\(path.address)"
      )
    }
  }

  @Test("what a transaction did is counted when it is committed, and refusals by their problem")
  func counted() throws {
    let metrics = Metrics()
    var tally = Tally()
    tally.applied = 2
    tally.refused[.uniqueTaken] = 1
    tally.conflicts = 4
    metrics.committed(tally, commands: 3, seconds: 0.002, isSlow: false)
    metrics.committed(tally, commands: 1, seconds: 0.2, isSlow: true)
    let text = metrics.text(Self.gauges)
    #expect(Self.sample(text, #"holdfast_change_sets_total{result="applied"}"#) == "4")
    #expect(Self.sample(text, #"holdfast_refusals_total{problem="unique-taken"}"#) == "2")
    #expect(Self.sample(text, "holdfast_conflicts_total") == "8")
    #expect(Self.sample(text, #"holdfast_commit_seconds_count{lane="slow"}"#) == "1")
    #expect(Self.sample(text, "holdfast_commit_commands_sum") == "4")
  }

  @Test("a running server counts what it answers, on an address of its own")
  func served() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      schema: try MergeSchema.schema(), database: .directory(folder.path), log: { _ in })
    configuration.metrics = MetricsAddress(host: "127.0.0.1", port: 0)
    let server = try Server(configuration)
    defer { server.stop() }
    let port = try #require(server.metricsPort)
    #expect(port != server.port)
    func get(_ address: String) async throws -> String {
      let url = try #require(URL(string: address))
      return String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
    }
    _ = try await get("\(server.url)/v1/zones")
    _ = try await get("\(server.url)/readyz")
    let text = try await get("http://127.0.0.1:\(port)/metrics")
    #expect(
      Self.sample(text, #"holdfast_request_seconds_count{route="/v1/zones",method="GET",status="401"}"#)
        == "1")
    #expect(Self.sample(text, #"holdfast_problems_total{problem="token-missing"}"#) == "1")
    // The probe of /readyz is one; a retention pass may have come as well.
    #expect(Int(Self.sample(text, #"holdfast_commit_seconds_count{lane="fast"}"#) ?? "") ?? 0 >= 1)
    // Anything else is refused for what it is, before its body.
    for (method, path, status) in [("POST", "metrics", 405), ("POST", "other", 404)] {
      var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/\(path)")))
      (request.httpMethod, request.httpBody) = (method, Data("x".utf8))
      let answer = try await URLSession.shared.data(for: request).1 as? HTTPURLResponse
      #expect(answer?.statusCode == status)
    }
    // The server itself does not show them.
    #expect(try await get("\(server.url)/metrics").contains("not-found"))
  }
}
