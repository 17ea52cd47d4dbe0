import Foundation
import Holdfast

/// The streams of events: how many writes and how soon they reach those who listen, and what 10,000 who do cost the server. All
/// devices are of one user, and hear of each write.
struct PushBench {
  private let server: ServerProgram
  private let runs: Int
  private let listeners: [String]
  private var bench: ServerBench
  /// Devices of another user, of whose writes no listener hears.
  private var others: ServerBench

  /// What 10,000 idle streams may cost in all, in megabytes.
  private static let memoryLimit = 400.0
  private static let writers = 16

  init(folder: URL, schema: SyncSchema, runs: Int) async throws {
    EventListeners.prepare()
    server = try ServerProgram(folder: folder, schema: schema)
    self.runs = runs
    let people = try await Bench.signUp(2, at: "http://127.0.0.1:\(server.port)")
    let tokens = try Self.devices(10_000 + Self.writers, of: people.tokens[0], port: server.port)
    listeners = Array(tokens[Self.writers...])
    let port = server.port
    func writers(_ person: Int, _ tokens: some Sequence<String>) -> ServerBench {
      ServerBench(
        port: port, tokens: Array(tokens),
        users: Array(repeating: people.users[person], count: Self.writers))
    }
    bench = writers(0, tokens[..<Self.writers])
    others = writers(1, try Self.devices(Self.writers, of: people.tokens[1], port: server.port))
  }

  mutating func measure() throws -> [Measurement.Result] {
    let streams = EventListeners()
    let (one, alone) = (try rate(1, streams), try rate(Self.writers, streams))
    let othersAlone = try otherRate()
    try streams.open(listeners[..<100], port: server.port)
    let together = try rate(Self.writers, streams)
    try streams.open(listeners[100..<1000], port: server.port)
    let times = try delays(streams).sorted()
    try streams.open(listeners[1000...], port: server.port)
    let othersBeside = try otherRate()
    let memory = try server.memory() / 1e6
    func delay(_ name: String, _ index: Int) -> Measurement.Result {
      .init(
        name: "a write until \(name) of 1,000 heard of it", rate: times[index] * 1e6,
        limitName: "until its answer", limit: 1e6 / one, floor: nil, unit: " us")
    }
    return [
      .init(
        name: "writes that reach 100 listeners", rate: together, limitName: "nobody listens", limit: alone,
        floor: nil),
      .init(
        name: "writes beside \(streams.count) idle streams", rate: othersBeside, limitName: "without streams",
        limit: othersAlone, floor: nil), delay("half", times.count / 2),
      delay("99 in 100", times.count * 99 / 100),
      .init(
        name: "memory of a server with \(streams.count) streams", rate: memory, limitName: "limit",
        limit: Self.memoryLimit, floor: nil, most: Self.memoryLimit, unit: " MB"),
    ]
  }

  /// Creates a second; each listener has heard of the last one when it is measured.
  private mutating func rate(_ connections: Int, _ streams: EventListeners) throws -> Double {
    var rates: [Double] = []
    for _ in 0..<runs {
      rates.append(try bench.creates(connections: connections, requests: 2000))
      try streams.wait(for: "event: zones")
      // The end of the time in which further moves are collected, so that the next write is told at once.
      usleep(150_000)
      streams.drain()
    }
    return Measurement.median(rates)
  }

  /// Creates a second of which no listener hears.
  private mutating func otherRate() throws -> Double {
    var rates: [Double] = []
    for _ in 0..<runs { rates.append(try others.creates(connections: Self.writers, requests: 2000)) }
    return Measurement.median(rates)
  }

  /// The seconds from a write's request to its event, of each listener and write.
  private mutating func delays(_ streams: EventListeners) throws -> [Double] {
    var delays: [Double] = []
    let writer = try LoadConnection(number: 0, address: "127.0.0.1", port: server.port)
    for _ in 0..<20 * runs {
      let request = bench.create(0)
      let start = monotonicSeconds()
      guard writer.send(request, at: 0) else { throw BenchError(text: "the server closed a connection") }
      try streams.wait(for: "event: zones") { delays.append(monotonicSeconds() - start) }
      usleep(150_000)
      guard case .whole(200, let body) = writer.receive() else { throw BenchError(text: "a write failed") }
      bench.receive(0, body)
    }
    return delays
  }

  /// Makes devices of the user of a token; gives their tokens.
  private static func devices(_ count: Int, of token: String, port: UInt16) throws -> [String] {
    let body = #"{"name":"listener"}"#
    let request = Array(
      """
      POST /v1/devices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
      Authorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
      """.utf8)
    var tokens: [String] = []
    // The last answers are not shown: some more are asked for.
    let connections = 64
    _ = try LoadGenerator(
      port: port, connections: connections, requests: count + connections, timeLimit: .seconds(120)
    ).run { _, answer in
      if let answer, let token = try? JSONValue(parsing: Array(answer))["token"]?.stringValue {
        tokens.append(token)
      }
      return tokens.count < count ? request : []
    }
    guard tokens.count >= count else { throw BenchError(text: "\(tokens.count) devices were made") }
    return Array(tokens.prefix(count))
  }

  private func monotonicSeconds() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
}
