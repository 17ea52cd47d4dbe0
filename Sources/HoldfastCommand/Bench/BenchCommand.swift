import Foundation
import Holdfast
import HoldfastCore
import HoldfastHTTP
import HoldfastServer

/// `holdfast bench`: the throughput of server and device, each compared with its limit from the same run.
enum BenchCommand: Subcommand {
  static let form = CommandForm(
    name: "bench", summary: "Measures the server and the device, each beside its limit.",
    options: [
      .init(name: "runs", value: "COUNT", help: "Runs of which the median counts; 3 unless given"),
      .init(
        name: "database", value: "URL", help: "Measures with an empty PostgreSQL database in place of SQLite"),
      .init(
        name: "only", value: "PART",
        help:
          "One of creates, bulk, syncs, download, snapshot, writes, push and resources; with a database also deltas; without one also feed and live; all of these unless given. Or growth: up to a million records, 10,000 zones, 1,000 devices and 256 connections; or purging: a million records that come and go"
      ), .init(name: "plots", value: "FOLDER", help: "Where growth leaves its plots, as SVG"),
    ],
    notes: "Build it in release mode: make bench. Ends with 1 when a floor is missed.")

  static func run(_ options: Options) throws -> Int32 {
    let runs = try options.number("runs", in: 1...99) ?? 3
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-bench-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let part = options["only"].map { Bench.Part(rawValue: $0) }
    if case .some(nil) = part {
      throw UsageError(
        "--only takes \(Bench.Part.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    let bench = Bench(
      folder: folder, database: options["database"], runs: runs,
      plots: options["plots"].map { URL(fileURLWithPath: $0) },
      parts: part.flatMap { $0 }.map { [$0] } ?? Bench.Part.usual)
    let results = try blocking { try await bench.all() }
    Output.shared.set("results", .array(results.map(\.json)))
    return results.contains { $0.isMissed } ? 1 : 0
  }
}

/// All benchmarks, in order.
struct Bench: Sendable {
  let folder: URL
  /// The PostgreSQL database; nil for SQLite.
  let database: String?
  let runs: Int
  let plots: URL?

  enum Part: String, CaseIterable, Sendable {
    case creates, bulk, syncs, feed, download, snapshot, writes, live, push, resources, deltas, growth,
      purging

    /// The parts that run by default.
    static let usual = allCases.filter { $0 != .purging && $0 != .growth }
  }
  let parts: [Part]

  func all() async throws -> [Measurement.Result] {
    let schema = try Self.schema()
    var environment = ServerEnvironment.system
    // The growth takes more than these allow.
    environment.limits.sessionsInHour = .max
    environment.zoneLimits.records = nil
    let location = database.map { DatabaseLocation.postgres(PostgresLocation($0)) }
    let server = try Server(
      Configuration(
        schema: schema,
        database: location ?? .directory(folder.appendingPathComponent("data").path),
        environment: environment, log: { _ in }))
    defer { server.stop() }
    let needsLoad = parts.contains(.creates) || parts.contains(.syncs) || parts.contains(.purging)
    let load = try await Self.signUp(needsLoad ? 64 : 0, at: server.url)
    let others = try await Self.signUp(database == nil ? 0 : 2, named: "delta", at: server.url)
    var bench = ServerBench(port: server.port, tokens: load.tokens, zones: load.users)
    var results: [Measurement.Result] = []
    func add(_ result: Measurement.Result) {
      print(result.line)
      results.append(result)
    }
    for part in parts {
      switch part {
      case .creates:
        add(try await creates(&bench, connections: 1, requests: 3000, floor: nil))
        add(try await creates(&bench, connections: 16, requests: 12000, floor: nil))
        add(try await creates(&bench, connections: 64, requests: 24000, floor: 1.5))
      case .bulk:
        let people = try await Self.signUp(2, named: "bulk", at: server.url)
        let device = ServerBench(port: server.port, tokens: [people.tokens[1]], zones: [people.users[1]])
        for result in try await bulk(server.port, schema, people.tokens[0], device) { add(result) }
      case .syncs:
        add(
          try quiet(bench, "up-to-date syncs, 64 connections", floor: 0.3) {
            try $0.upToDate(connections: 64, requests: 60000)
          })
        add(
          try quiet(bench, "up-to-date polls by REST, 64 connections", floor: 0.2) {
            try $0.polls(connections: 64, requests: 60000)
          })
      case .feed where database != nil: continue
      case .feed:
        let people = try await Self.signUp(1, named: "feed", at: server.url)
        let feed = FeedBench(
          port: server.port, token: people.tokens[0], user: people.users[0],
          database: folder.appendingPathComponent("data/holdfast.db"))
        try feed.fill()
        let limit = "raw SQLite, by seq"
        add(try rates("a download of 100,000 records by changes", limit, 0.25) { try feed.download() })
        add(try rates("100 changes, 64 connections", limit, 0.15) { try feed.lastChanges() })
      case .download:
        let bench = DownloadBench(folder: folder, runs: runs, server: server.url, schema: schema)
        add(try await bench.measure())
        add(try await bench.measureApplying())
      case .snapshot:
        let bench = DownloadBench(folder: folder, runs: runs, server: server.url, schema: schema)
        for result in try await bench.measureSnapshot() { add(result) }
      case .writes: add(try await DeviceBench.localWrite(in: folder, schema: schema, count: 3000, runs: runs))
      case .live where database != nil: continue
      case .live: add(try await LiveBench(folder: folder, schema: schema, runs: runs).measure())
      case .resources: try await ResourceBench(folder: folder, schema: schema, database: database).measure()
      case .deltas:
        for result in try deltas(server.port, others) { add(result) }
      case .growth:
        let people = try await Self.signUp(3, named: "growth", at: server.url)
        let growth = GrowthBench(
          port: server.port, token: people.tokens[0], user: people.users[0], other: people.tokens[1],
          crowd: (people.tokens[2], people.users[2]), plots: plots)
        for result in try growth.measure() { add(result) }
      case .purging where database != nil: continue
      case .purging:
        var bench = RetentionBench(folder: folder, server: server, bench: bench)
        try bench.measure(cycles: 1_000_000)
      case .push:
        var push = try await PushBench(folder: folder, schema: schema, database: database, runs: runs)
        for result in try push.measure() { add(result) }
      }
    }
    return results
  }

  /// The throughput of a first download, and of small changes to large zones; nothing for SQLite.
  private func deltas(_ port: UInt16, _ load: (tokens: [String], users: [String])) throws -> [Measurement
    .Result]
  {
    guard let database else { return [] }
    let sql = PgBench(url: database, folder: folder)
    let deltas = (0..<2).map {
      DeltaBench(port: port, sql: sql, token: load.tokens[$0], user: load.users[$0])
    }
    try deltas[0].fill(1_000_000)
    try deltas[1].fill(10_000)
    return [
      .init(
        name: "first download by changes, served", rate: try deltas[0].download(pages: 10),
        limitName: "COPY of the rows", limit: try sql.copyOut(of: load.users[0], count: 100_000), floor: nil),
      .init(
        name: "100 changes, 64 connections",
        rate: try deltas[1].lastChanges(connections: 64, requests: 20_000),
        limitName: "pgbench, 100 rows", limit: try sql.reads(of: 100, clients: 64, count: 64_000), floor: nil),
      .init(
        name: "100 changes out of 1,000,000 records",
        rate: try deltas[0].lastChanges(connections: 1, requests: 2000),
        limitName: "100 out of 10,000", limit: try deltas[1].lastChanges(connections: 1, requests: 2000),
        floor: nil),
    ]
  }

  private func creates(
    _ bench: inout ServerBench, connections: Int, requests: Int, floor: Double?
  ) async throws -> Measurement.Result {
    var (rates, limits): ([Double], [Double]) = ([], [])
    for run in 0..<runs {
      if let database {
        let bench = PgBench(url: database, folder: folder)
        limits.append(try bench.bareInserts(clients: connections, count: requests))
      } else {
        limits.append(try await RawSQLite.oneRowCommits(in: folder, run: run, count: 3000))
      }
      rates.append(try bench.creates(connections: connections, requests: requests))
    }
    return .init(
      name: "durable creates over HTTP, \(connections) connections", rate: Measurement.median(rates),
      limitName: database == nil ? "raw SQLite, a row a commit" : "pgbench, as many clients",
      limit: Measurement.median(limits), floor: database == nil ? floor : nil)
  }

  /// The medians of what is measured beside its limit.
  private func rates(
    _ name: String, _ limitName: String, _ floor: Double,
    _ measure: () throws -> (rate: Double, limit: Double)
  ) rethrows -> Measurement.Result {
    let all = try (0..<runs).map { _ in try measure() }
    return .init(
      name: name, rate: Measurement.median(all.map(\.rate)), limitName: limitName,
      limit: Measurement.median(all.map(\.limit)), floor: floor)
  }

  /// Many records in one request.
  private func bulk(
    _ port: UInt16, _ schema: SyncSchema, _ token: String, _ device: ServerBench
  ) async throws -> [Measurement.Result] {
    var bench = BulkBench(
      port: port, sql: database.map { PgBench(url: $0, folder: folder) }, folder: folder, schema: schema,
      token: token, device: device)
    typealias Rates = [(rate: Double, limit: Double)]
    var (creates, sets, cascades): (Rates, Rates, Rates) = ([], [], [])
    for _ in 0..<runs {
      creates.append(try await bench.creates(requests: 20))
      sets.append(try await bench.changeSets(requests: 20))
      cascades.append(try await bench.cascade())
    }
    let engine = database == nil ? "raw SQLite" : "PostgreSQL alone"
    let all: [(name: String, rates: Rates, floor: Double?)] = [
      ("creates by 1,000 in a request", creates, 0.2), ("change sets of 1,000 creates", sets, 0.1),
      ("a cascade of 8,000 records", cascades, nil),
    ]
    return all.map {
      Measurement.Result(
        name: $0.name, rate: Measurement.median($0.rates.map(\.rate)), limitName: engine,
        limit: Measurement.median($0.rates.map(\.limit)), floor: database == nil ? $0.floor : nil)
    }
  }

  /// Requests of those who have everything, beside a constant answer, or a row of the database.
  private func quiet(
    _ bench: ServerBench, _ name: String, floor: Double, _ rate: (ServerBench) throws -> Double
  ) throws -> Measurement.Result {
    let constant = try HTTPServer(handler: { _, responder in
      responder.respond(
        HTTPResponse(status: 200, headers: [("Content-Type", "application/json")], body: Self.answer))
    })
    defer { constant.stop(grace: .zero) }
    var (rates, limits): ([Double], [Double]) = ([], [])
    for _ in 0..<runs {
      if let database {
        limits.append(try PgBench(url: database, folder: folder).reads(of: 1, clients: 64, count: 100_000))
      } else {
        limits.append(try ServerBench.constant(port: constant.port, connections: 64, requests: 100_000))
      }
      rates.append(try rate(bench))
    }
    return .init(
      name: name, rate: Measurement.median(rates),
      limitName: database == nil ? "constant answer" : "pgbench, a row, 64 clients",
      limit: Measurement.median(limits), floor: database == nil ? floor : nil)
  }

  /// As many bytes as a sync answer without changes.
  private static let answer = Array(repeating: UInt8(ascii: " "), count: 130)

  static func signUp(
    _ count: Int, named name: String = "bench", at server: String
  ) async throws -> (tokens: [String], users: [String]) {
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let transport = HTTPTransport(server: url)
    var (tokens, users): ([String], [String]) = ([], [])
    for number in 0..<count {
      let body = #"{"name":"\#(name)\#(number)","password":"correct-horse","device":{"name":"bench"}}"#
      let answer = try await transport.send(
        TransportRequest(method: "POST", path: "v1/accounts", body: Array(body.utf8)))
      let session = try JSONValue(parsing: answer.body)
      guard let token = session["token"]?.stringValue, let user = session["user"]?["id"]?.stringValue else {
        throw BenchError(text: "sign-up failed with \(answer.status)")
      }
      tokens.append(token)
      users.append(user)
    }
    return (tokens, users)
  }

  private static func schema() throws -> SyncSchema {
    try SyncSchema(
      name: "bench",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true),
            ColumnSchema("done", .boolean, required: true, default: .integer(0)),
            ColumnSchema("note", .text), ColumnSchema("position", .position, required: true),
          ]),
        TableSchema("notes", zone: .user, columns: [ColumnSchema("text", .text)]),
      ])
  }
}
