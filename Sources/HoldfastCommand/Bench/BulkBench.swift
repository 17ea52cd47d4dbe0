import Foundation
import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Many records in one request, compared with the same work in the database alone.
struct BulkBench {
  /// The number of records created by one request, and of those that a deletion cascades to.
  private static let batch = 1000
  private static let children = 8000
  /// The content of a created record: 200 bytes.
  static let text = String(repeating: "a note of ten words ", count: 10)

  let port: UInt16
  /// The PostgreSQL database; nil for SQLite.
  let sql: PgBench?
  let folder: URL
  let schema: SyncSchema
  /// Of who writes by REST.
  let token: String
  /// The device whose change sets are sent, of another user: it must not have to download what is written by REST.
  var device: ServerBench

  /// Records of 200 bytes per second, by requests of 1,000 creates each on one connection; and for the database alone.
  func creates(requests: Int) async throws -> (rate: Double, limit: Double) {
    let create = #"{"op":"create","table":"notes","columns":{"text":"\#(Self.text)"}}"#
    let bodies = Array(repeating: batch(of: Array(repeating: create, count: Self.batch)), count: requests)
    let seconds = try await Measurement.seconds { try send(bodies) }
    return (Double(requests * Self.batch) / seconds, try await bare(requests))
  }

  /// The same in change sets of a device, each of 1,000 creates in a request.
  mutating func changeSets(requests: Int) async throws -> (rate: Double, limit: Double) {
    let rate = try device.changeSets(of: Self.batch, count: requests, with: Self.text)
    return (rate, try await bare(requests))
  }

  /// The same rows a second in the database alone, as many in a transaction.
  private func bare(_ requests: Int) async throws -> Double {
    if let sql { return try sql.bareSets(count: requests, with: Self.text) * Double(Self.batch) }
    return try await RawSQLite.sets(of: Self.batch, count: requests, with: Self.text, schema, in: folder)
  }

  /// Records per second that a deletion of their parent cascades to; and for the database alone.
  func cascade() async throws -> (rate: Double, limit: Double) {
    let list = StoreEnvironment.system.newID()
    let position = Position.between(nil, nil, replica: Position.Replica(random: 1), nonce: 0)
    let items = (0..<Self.children).map { number in
      """
      {"op":"create","table":"items","columns":{"list_id":"\(list)","title":"item \(number)","position":"\(position)"}}
      """
    }
    try send([batch(of: [#"{"op":"create","table":"lists","id":"\#(list)","columns":{"title":"bench"}}"#])])
    try send(
      stride(from: 0, to: items.count, by: Self.batch).map {
        batch(of: Array(items[$0..<min($0 + Self.batch, items.count)]))
      })
    let seconds = try await Measurement.seconds {
      try send([request("DELETE", "/v1/tables/lists/\(list)", [])])
    }
    let limit: Double
    if let sql {
      limit = try sql.bareCascade(of: Self.children)
    } else {
      limit = try await RawSQLite.cascade(of: Self.children, in: folder)
    }
    return (Double(Self.children) / seconds, limit)
  }

  private func send(_ requests: [[UInt8]]) throws {
    var left = requests.makeIterator()
    let result = try LoadGenerator(
      port: port, connections: 1, requests: requests.count, timeLimit: .seconds(60)
    ).run { _, _ in left.next() ?? [] }
    guard result.errors == 0, result.requests == requests.count else {
      throw BenchError(text: "\(result.errors) of \(requests.count) bulk requests failed")
    }
  }

  private func batch(of operations: [String]) -> [UInt8] {
    request("POST", "/v1/batch", Array("{\"operations\":[\(operations.joined(separator: ","))]}".utf8))
  }

  private func request(_ method: String, _ path: String, _ body: [UInt8]) -> [UInt8] {
    let content = body.isEmpty ? "" : "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n"
    let head = """
      \(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\nPrefer: return=minimal\r\n\(content)\r\n
      """
    return Array(head.utf8) + body
  }
}

extension PgBench {
  /// Rows per second that PostgreSQL deletes by a cascade.
  func bareCascade(of count: Int) throws -> Double {
    try psql(
      """
      DROP TABLE IF EXISTS bench_children, bench_parents;
      CREATE TABLE bench_parents (id text PRIMARY KEY);
      CREATE TABLE bench_children (id text PRIMARY KEY,
        parent text NOT NULL REFERENCES bench_parents ON DELETE CASCADE, title text);
      CREATE INDEX bench_children_of_parent ON bench_children (parent);
      INSERT INTO bench_parents VALUES ('one');
      INSERT INTO bench_children SELECT gen_random_uuid()::text, 'one', 'item ' || i FROM generate_series(1, \(count)) i;
      """)
    let plan = try psql("EXPLAIN (ANALYZE, TIMING OFF) DELETE FROM bench_parents")
    let time = plan.split(separator: "\n").first { $0.hasPrefix("Execution Time: ") }
    guard let milliseconds = time?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) else {
      throw BenchError(text: "EXPLAIN said no time: \(plan)")
    }
    return Double(count) * 1000 / milliseconds
  }
}
