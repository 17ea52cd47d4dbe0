import Foundation
import Holdfast
import HoldfastCore
import HoldfastHTTP

/// The server under load, compared with raw SQLite and with a constant answer of the same HTTP library.
struct ServerBench {
  let port: UInt16
  /// One token per connection, each of a different user.
  let tokens: [String]
  /// For each token, the zone of its creates: the user's private one, or a list.
  let zones: [String]
  /// The table and columns of a created record.
  private let record: (table: String, columns: String)

  /// The state of each connection's device.
  private var next: [Int64]
  private var chains: [Fingerprint]
  private var acks: [String]

  /// - Parameter list: the list in which items are created; nil to create notes in the users' private zones.
  init(port: UInt16, tokens: [String], zones: [String], list: String? = nil) {
    (self.port, self.tokens) = (port, tokens)
    self.zones = list.map { Array(repeating: $0, count: tokens.count) } ?? zones
    let position = Position.between(nil, nil, replica: Position.Replica(random: 1), nonce: 0)
    record =
      list.map { ("items", #"{"list_id":"\#($0)","title":"an item","position":"\#(position)"}"#) }
      ?? ("notes", #"{"text":"a note"}"#)
    next = Array(repeating: 1, count: tokens.count)
    chains = Array(repeating: .beginning, count: tokens.count)
    acks = Array(repeating: "", count: tokens.count)
  }

  /// Durable single-record creates per second. Each request has one change set with one create, and the ack of the previous answer.
  mutating func creates(connections: Int, requests: Int) throws -> Double {
    let result = try follow(connections, requests) { bench, connection in bench.create(connection) }
    guard result.errors == 0 else {
      throw BenchError(text: "\(result.errors) of \(result.requests) creates failed")
    }
    try catchUp(connections)
    return result.rate
  }

  /// Records a second in change sets of so many creates, a request each, on the first connection.
  mutating func changeSets(of size: Int, count: Int, with text: String) throws -> Double {
    var sets = (0..<count).map { _ in
      let creates = (0..<size).map { _ in
        """
        {"op":"create","table":"notes","id":"\(StoreEnvironment.system.newID())","at":"0000000000010000",\
        "columns":{"text":"\(text)"}}
        """
      }
      return Array("[\(creates.joined(separator: ","))]".utf8)
    }
    let result = try follow(1, count) { bench, connection in
      bench.request(connection, bench.unsent(of: connection), sealed: [sets.removeLast()])
    }
    guard result.errors == 0 else {
      throw BenchError(text: "\(result.errors) of \(result.requests) change sets failed")
    }
    try catchUp(1)
    return result.rate * Double(size)
  }

  /// Asks where the devices stand, for the next run: the generator does not show the last answers.
  private mutating func catchUp(_ connections: Int) throws {
    var asked = Set<Int>()
    _ = try follow(connections, connections * 2) { bench, connection in
      asked.insert(connection).inserted
        ? bench.request(connection, bench.unsent(of: connection), sealed: []) : []
    }
  }

  /// The request of one create.
  func create(_ connection: Int) -> [UInt8] {
    let operation = """
      [{"op":"create","table":"\(record.table)","id":"\(StoreEnvironment.system.newID())","at":"0000000000010000",\
      "columns":\(record.columns)}]
      """
    return request(connection, unsent(of: connection), sealed: [Array(operation.utf8)])
  }

  /// Creates `count` records on the first connection, and deletes them, in one change set each. Then acks.
  mutating func cycle(of count: Int) throws {
    let ids = (0..<count).map { _ in StoreEnvironment.system.newID() }
    let creates = ids.map {
      #"{"op":"create","table":"notes","id":"\#($0)","at":"0000000000010000","columns":{"text":"a note"}}"#
    }
    let deletes = ids.map {
      #"{"op":"delete","table":"notes","id":"\#($0)","rev":1,"at":"0000000000020000"}"#
    }
    var sets = [deletes, creates].map { Array("[\($0.joined(separator: ","))]".utf8) }
    var quiet = 2
    let result = try follow(1, 4) { bench, connection in
      if let set = sets.popLast() {
        return bench.request(connection, bench.unsent(of: connection), sealed: [set])
      }
      quiet -= 1
      return quiet >= 0 ? bench.request(connection, bench.unsent(of: connection), sealed: []) : []
    }
    guard result.errors == 0 else { throw BenchError(text: "\(result.errors) requests failed") }
  }

  /// Updates a device's state from an answer.
  mutating func receive(_ connection: Int, _ answer: UnsafeRawBufferPointer) {
    guard let parsed = try? SyncAnswer(body: Array(answer)) else { return }
    next[connection] = parsed.confirmed + 1
    chains[connection] = parsed.chain
    acks[connection] = parsed.parts.first { $0.zone == zones[connection] }?.to ?? acks[connection]
  }

  /// Sends the requests that `make` returns for each device's current state.
  private mutating func follow(
    _ connections: Int, _ requests: Int, _ make: (ServerBench, Int) -> [UInt8]
  ) throws -> LoadGenerator.Result {
    var bench = self
    let result = try generator(connections, requests).run { connection, answer in
      if let answer { bench.receive(connection, answer) }
      return make(bench, connection)
    }
    self = bench
    return result
  }

  /// A device's request without its change sets.
  private func unsent(of connection: Int) -> SyncRequest {
    var body = SyncRequest()
    body.first = next[connection]
    body.chain = chains[connection]
    body.acknowledgedRefusals = next[connection] - 1
    if !acks[connection].isEmpty { body.acks = [.init(zone: zones[connection], token: acks[connection])] }
    body.digest = Self.digest(body.acks)
    return body
  }

  /// Syncs per second of devices that are up to date.
  func upToDate(connections: Int, requests: Int) throws -> Double {
    // A device that has acked everything. It sends its acks once, and then repeats the same request.
    var prepared = [[UInt8]?](repeating: nil, count: connections)
    var acks = [SyncRequest.Ack?](repeating: nil, count: connections)
    let result = try generator(connections, requests).run { connection, answer in
      if let bytes = prepared[connection] { return bytes }
      guard let answer, let parsed = try? SyncAnswer(body: Array(answer)) else {
        var all = SyncRequest()
        all.isComplete = true
        all.acknowledgedRefusals = next[connection] - 1
        return request(connection, all, sealed: [])
      }
      if let part = parsed.parts.last {
        acks[connection] = .init(zone: part.zone, token: part.to)
        var sent = SyncRequest()
        sent.acknowledgedRefusals = next[connection] - 1
        sent.acks = [acks[connection]].compactMap { $0 }
        sent.digest = Self.digest(sent.acks)
        return request(connection, sent, sealed: [])
      }
      var quiet = SyncRequest()
      quiet.acknowledgedRefusals = next[connection] - 1
      quiet.digest = Self.digest([acks[connection]].compactMap { $0 })
      let bytes = request(connection, quiet, sealed: [])
      prepared[connection] = bytes
      return bytes
    }
    guard result.errors == 0 else {
      throw BenchError(text: "\(result.errors) of \(result.requests) syncs failed")
    }
    return result.rate
  }

  /// REST polls per second of clients that are up to date; each answer is a 304.
  func polls(connections: Int, requests: Int) throws -> Double {
    var prepared = [[UInt8]?](repeating: nil, count: connections)
    var others = 0
    let result = try generator(connections, requests).run { connection, answer in
      if let bytes = prepared[connection] {
        others += answer?.isEmpty == false ? 1 : 0
        return bytes
      }
      guard let answer, let part = try? JSONValue(parsing: Array(answer)), let token = part["to"]?.stringValue
      else { return poll(connection, since: "?limit=10000", tag: nil) }
      if part["more"]?.boolValue == true {
        return poll(connection, since: "?limit=10000&since=\(token)", tag: nil)
      }
      let bytes = poll(connection, since: "?since=\(token)", tag: token)
      prepared[connection] = bytes
      return bytes
    }
    guard result.errors == 0, others == 0 else {
      throw BenchError(text: "\(result.errors) of \(result.requests) polls failed, \(others) were no 304")
    }
    return result.rate
  }

  private func poll(_ connection: Int, since query: String, tag: String?) -> [UInt8] {
    let condition = tag.map { "If-None-Match: \"\($0)\"\r\n" } ?? ""
    return Array(
      """
      GET /v1/zones/\(zones[connection])/changes\(query) HTTP/1.1\r\nHost: x\r\n\
      Authorization: Bearer \(tokens[connection])\r\n\(condition)\r\n
      """.utf8)
  }

  /// A constant answer of the same size, from the same HTTP library in the same process.
  static func constant(port: UInt16, connections: Int, requests: Int) throws -> Double {
    let bytes = Array(
      "POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        .utf8)
    let generator = LoadGenerator(
      port: port, connections: connections, requests: requests, timeLimit: .seconds(30))
    return try generator.run { _, _ in bytes }.rate
  }

  private func generator(_ connections: Int, _ requests: Int) -> LoadGenerator {
    LoadGenerator(port: port, connections: connections, requests: requests, timeLimit: .seconds(60))
  }

  private func request(_ connection: Int, _ request: SyncRequest, sealed: [[UInt8]]) -> [UInt8] {
    var request = request
    request.takesAsSent = true
    let body = request.body(sealed: sealed)
    let head = """
      POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
      Authorization: Bearer \(tokens[connection])\r\nContent-Length: \(body.count)\r\n\r\n
      """
    return Array(head.utf8) + body
  }

  private static func digest(_ acks: [SyncRequest.Ack]) -> String {
    var digest = AckDigest()
    for ack in acks { digest.add(zone: ack.zone, token: ack.token ?? "") }
    return digest.text
  }
}

/// A failed benchmark.
struct BenchError: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
