import Foundation
import Holdfast

/// Event streams: the throughput of writes with listeners, the delay until an event arrives, and the cost of 10,000 listeners. The
/// listeners are a hundred devices of each of a hundred members of one list. They receive an event for each write to it.
struct PushBench {
  private let server: ServerProgram
  private let runs: Int
  /// The deliveries a second and the microseconds that are wanted.
  private let wanted: (rate: Double, delay: Double)
  private let listeners: [String]
  private var bench: ServerBench
  /// Devices of another user, whose writes cause no event for the listeners.
  private var others: ServerBench

  /// The maximum memory of 10,000 idle streams in megabytes.
  private static let memoryLimit = 400.0
  private static let writers = 16
  private static let members = 100

  init(folder: URL, schema: SyncSchema, database: String?, runs: Int) async throws {
    EventListeners.prepare()
    server = try ServerProgram(folder: folder, schema: schema, database: database, data: "push")
    self.runs = runs
    wanted = database == nil ? (3000, 8000) : (1000, 15_000)
    let port = server.port
    let people = try await Bench.signUp(Self.members + 2, named: "push", at: "http://127.0.0.1:\(port)")
    let (writer, other) = (people.tokens[Self.members], people.tokens[Self.members + 1])
    let members = people.tokens.prefix(Self.members)
    let list = try await Self.list(of: writer, members, at: "http://127.0.0.1:\(port)")
    // First one device of each member, so that the first hundred listeners are a hundred users.
    let devices = try members.map { try Self.devices(Self.members - 1, of: $0, port: port) }
    listeners = members + (0..<Self.members - 1).flatMap { number in devices.map { $0[number] } }
    bench = ServerBench(
      port: port, tokens: try Self.devices(Self.writers, of: writer, port: port), zones: [], list: list)
    others = ServerBench(
      port: port, tokens: try Self.devices(Self.writers, of: other, port: port),
      zones: Array(repeating: people.users[Self.members + 1], count: Self.writers))
  }

  /// Creates a list with members, and returns its id.
  private static func list(of owner: String, _ members: some Sequence<String>, at server: String) async throws
    -> String
  {
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let transport = HTTPTransport(server: url)
    func post(_ path: String, _ body: JSONValue, of token: String) async throws -> JSONValue {
      let answer = try await transport.send(
        TransportRequest(method: "POST", path: path, token: token, body: body.bytes))
      guard (200..<300).contains(answer.status) else {
        throw BenchError(text: "\(path): \(String(decoding: answer.body, as: UTF8.self))")
      }
      return answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body)
    }
    let list =
      try await post("v1/tables/lists", ["columns": ["title": "bench"]], of: owner)["id"]?.stringValue ?? ""
    let invitation = try await post(
      "v1/zones/\(list)/invitations",
      ["role": "viewer", "expires_in": 3600, "uses": .integer(Int64(Self.members))], of: owner)
    let token = invitation["token"]?.stringValue ?? ""
    for member in members {
      _ = try await post("v1/invitations/accept", ["token": .string(token)], of: member)
    }
    return list
  }

  mutating func measure() throws -> [Measurement.Result] {
    let streams = EventListeners()
    let (one, alone) = (try rate(1, streams), try rate(Self.writers, streams))
    let othersAlone = try otherRate()
    try streams.open(listeners[..<100], port: server.port)
    let together = try rate(Self.writers, streams)
    let pulls = try pulls(streams)
    try streams.open(listeners[100..<1000], port: server.port)
    let times = try delays(streams).sorted()
    try streams.open(listeners[1000...], port: server.port)
    let othersBeside = try otherRate()
    let memory = try server.memory("VmRSS") / 1e6
    func delay(_ name: String, _ index: Int) -> Measurement.Result {
      .init(
        name: "a write until \(name) of 1,000 heard of it", rate: times[index] * 1e6,
        limitName: "until its answer", limit: 1e6 / one, floor: nil, unit: " us")
    }
    return pulls + [
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

  /// How many devices a second hear of a write and have pulled it, and how soon half of them.
  private mutating func pulls(_ streams: EventListeners) throws -> [Measurement.Result] {
    var devices = try PullBench(streams, listeners[..<Self.members], port: server.port)
    var times: [Double] = []
    let seconds = try Measurement.synchronousSeconds {
      times = try devices.measure(&bench, writes: 30 * runs)
    }
    streams.drain()
    return [
      .init(
        name: "deliveries to 100 listeners, event and pull", rate: Double(times.count) / seconds,
        limitName: "wanted", limit: wanted.rate, floor: nil),
      .init(
        name: "a write until half of 100 have pulled it", rate: Measurement.median(times) * 1e6,
        limitName: "wanted", limit: wanted.delay, floor: nil, unit: " us"),
    ]
  }

  /// Creates per second. The time ends when each listener has received the event of the last one.
  private mutating func rate(_ connections: Int, _ streams: EventListeners) throws -> Double {
    var rates: [Double] = []
    for _ in 0..<runs {
      rates.append(try bench.creates(connections: connections, requests: 2000))
      try streams.wait(for: "event: zones")
      // The coalescing time ends, so that the next write is notified immediately.
      usleep(150_000)
      streams.drain()
    }
    return Measurement.median(rates)
  }

  /// Creates per second that cause no event for the listeners.
  private mutating func otherRate() throws -> Double {
    var rates: [Double] = []
    for _ in 0..<runs { rates.append(try others.creates(connections: Self.writers, requests: 2000)) }
    return Measurement.median(rates)
  }

  /// The seconds from a write's request to its event, for each listener and write.
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

  /// Creates devices of a token's user, and returns their tokens.
  private static func devices(_ count: Int, of token: String, port: UInt16) throws -> [String] {
    let body = #"{"name":"listener"}"#
    let request = Array(
      """
      POST /v1/devices HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
      Authorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
      """.utf8)
    var tokens: [String] = []
    // One at a time: a user can create a hundred per hour at most. The generator does not return the last answer, so one more is requested.
    _ = try LoadGenerator(port: port, connections: 1, requests: count + 1, timeLimit: .seconds(120)).run {
      _, answer in
      if let answer, let token = try? JSONValue(parsing: Array(answer))["token"]?.stringValue {
        tokens.append(token)
      }
      return request
    }
    guard tokens.count >= count else { throw BenchError(text: "\(tokens.count) devices were made") }
    return tokens
  }

  private func monotonicSeconds() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }
}
