import Foundation
import Holdfast
import HoldfastHTTP
import HoldfastServer
import Synchronization
import TemporaryPostgres
import Testing

/// The files in `deploy/`, in the real programs, before real nodes.
@Suite("A proxy of deploy/", .serialized) struct ProxyTests {
  private let folder: URL
  private let nodes: [ServerProcess]
  private let schema: SyncSchema

  init() throws {
    folder = try Programs.makeFolder()
    schema = try Scene.schema()
    let shared = try SharedDatabase.makePostgres()
    let (folder, schema) = (folder, schema)
    nodes = try (0..<2).map { _ in
      try ServerProcess(folder: folder, schema: schema, shared, options: ["--trust-proxy", "127.0.0.1"])
    }
  }

  private func start(_ kind: RunningProxy.Kind) throws -> RunningProxy {
    // HAProxy's third node is one that is down.
    try RunningProxy(kind, before: nodes.map(\.port) + [1], in: folder)
  }

  private func wrong(_ name: String, _ proxy: RunningProxy, from source: String, _ header: String) throws
    -> Int
  {
    try proxy.ask(
      "/v1/sessions", from: source, "--json",
      #"{"name":"\#(name)","password":"wrong-horse","device":{"name":"x"}}"#, "--header", header
    ).status
  }

  @Test(
    "counts wrong passwords by who sends them, whatever the sender says of that: no limit is undone, nobody is locked out (I10)",
    .timeLimit(.minutes(3)), arguments: RunningProxy.Kind.allCases)
  func forged(kind: RunningProxy.Kind) throws {
    let proxy = try start(kind)
    for name in ["ann", "bob"] {
      let made = try proxy.ask(
        "/v1/accounts", "--json", #"{"name":"\#(name)","password":"correct-horse","device":{"name":"x"}}"#)
      #expect(made.status == 201)
    }
    // Another address each time, in all the ways in which proxies say it.
    var statuses: [Int] = []
    // Each node counts for itself: 10.
    for number in 0..<30 {
      let header = [
        "X-Forwarded-For: 10.0.0.\(number)", "X-Forwarded-For: 10.0.0.\(number), 127.0.0.1",
        "x-forwarded-for: 127.0.0.1", "Forwarded: for=10.0.0.\(number)", "X-Real-IP: 10.0.0.\(number)",
        "X-Forwarded-For: 127.0.0.8\r\nX-Forwarded-For: 10.0.0.\(number)",
      ][number % 6]
      statuses.append(try wrong("ann", proxy, from: "127.0.0.9", header))
    }
    #expect((10...20).contains(statuses.count { $0 == 401 }), "\(statuses)")
    #expect(statuses.suffix(5).allSatisfy { $0 == 429 }, "\(statuses)")
    // In the name of somebody else.
    for _ in 0..<30 { _ = try wrong("bob", proxy, from: "127.0.0.9", "X-Forwarded-For: 127.0.0.8") }
    for name in ["ann", "bob"] {
      let right = try proxy.ask(
        "/v1/sessions", from: "127.0.0.8", "--json",
        #"{"name":"\#(name)","password":"correct-horse","device":{"name":"y"}}"#)
      #expect(right.status == 200, "\(right.body)")
    }
  }

  @Test(
    "passes syncs and streams of events on, also while its nodes are replaced one after the other (I3, I4)",
    .timeLimit(.minutes(3)), arguments: RunningProxy.Kind.allCases)
  func rolling(kind: RunningProxy.Kind) async throws {
    let proxy = try start(kind)
    let transport = HTTPTransport(server: proxy.address)
    let phone = try Device("phone", in: folder, transport: transport, schema: schema)
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    let tablet = try Device("tablet", in: folder, transport: transport, schema: schema)
    try await tablet.engine.signIn(name: "ann", password: "correct-horse", device: "tablet")
    let list = try await phone.addList("Home")
    try await phone.engine.sync()
    try await tablet.engine.sync()
    var stream = try StreamClient(proxy.address, as: tablet)
    var titles: Set<String> = []
    for round in 0..<4 {
      try await phone.addItem("item \(round)", to: list)
      titles.insert("item \(round)")
      try await phone.engine.sync()
      #expect(stream.hears(list))
      let node = nodes[round % 2]
      #expect(node.stop() == 0)
      // No sync fails while a node is away: the request goes to the other.
      for number in 0..<8 {
        try await phone.addItem("round \(round) \(number)", to: list)
        titles.insert("round \(round) \(number)")
        try await phone.engine.sync()
      }
      try node.start()
      try await waitUntil { try proxy.ask("/readyz").status == 200 }
      // It was the node's, or it was not.
      try await tablet.engine.sync()
      stream = try StreamClient(proxy.address, as: tablet)
    }
    try await tablet.engine.sync()
    #expect(try await tablet.titles() == titles)
  }

  /// Counts what nodes have got.
  private final class Count: Sendable {
    let value = Mutex(0)
  }

  @Test(
    "sends no write to a second node that the first one has got and not answered (I1)",
    .timeLimit(.minutes(3)),
    arguments: RunningProxy.Kind.allCases)
  func once(kind: RunningProxy.Kind) throws {
    let count = Count()
    let silent = try (0..<2).map { _ in
      try HTTPServer(threads: 1) { request, responder in
        var answer = HTTPResponse.plain(status: 200)
        if request.path != "/readyz" {
          count.value.withLock { $0 += 1 }
          answer.isCut = true
        }
        responder.respond(answer)
      }
    }
    let proxy = try RunningProxy(kind, before: silent.map { Int($0.port) } + [1], in: folder)
    for (number, method) in ["PUT", "DELETE", "PATCH", "POST"].enumerated() {
      let answer = try proxy.ask("/v1/tables/lists/x", "--json", "{}", "--request", method)
      #expect(answer.status == 502 && count.value.withLock { $0 } == number + 1, "\(method)")
    }
  }

  @Test(
    "lets a body of 10 MiB pass, and gives the nodes' own answers", .timeLimit(.minutes(3)),
    arguments: RunningProxy.Kind.allCases)
  func large(kind: RunningProxy.Kind) throws {
    let proxy = try start(kind)
    let body = folder.appendingPathComponent("body")
    try Data(repeating: 0x20, count: 10 << 20).write(to: body)
    let made = try proxy.ask(
      "/v1/accounts", "--json", #"{"name":"ann","password":"correct-horse","device":{"name":"x"}}"#)
    let token = try #require((try? JSONValue(parsing: Array(made.body.utf8)))?["token"]?.stringValue)
    let answer = try proxy.ask(
      "/v1/batch", "--json", "@" + body.path, "--header", "Authorization: Bearer \(token)")
    #expect(answer.status == 400)
    #expect(answer.body.contains("malformed-json"))
  }
}
