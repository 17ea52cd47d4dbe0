import Foundation
import Holdfast
import HoldfastSQLite

/// Changes as the server sends them, beside raw SQLite that reads the same rows from the same table by seq, in this process.
struct FeedBench {
  /// How many records the zone has, and how many of them a small answer brings.
  private static let count = 100_000
  private static let few = 100
  private static let page = 10_000

  let port: UInt16
  /// A device whose user has no records yet.
  let token: String
  let user: String
  /// The database of the server.
  let database: URL

  /// Creates the records, of 200 bytes each.
  func fill() throws { try create(1000, times: Self.count / 1000) }

  private func create(_ count: Int, times: Int) throws {
    let create = #"{"op":"create","table":"notes","columns":{"text":"\#(BulkBench.text)"}}"#
    let creates = Array(repeating: create, count: count).joined(separator: ",")
    let body = Array("{\"operations\":[\(creates)]}".utf8)
    let head =
      "POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nPrefer: return=minimal\r\n"
      + "Authorization: Bearer \(token)\r\nContent-Length: \(body.count)\r\n\r\n"
    let request = Array(head.utf8) + body
    _ = try run(1, times) { _, _ in request }
  }

  /// Records a second of all pages of the zone, on one connection, and those that SQLite reads.
  func download() throws -> (rate: Double, limit: Double) {
    // After a write, no page of before is valid in the server's cache: these are those of the first device.
    try create(1, times: 1)
    let result = try run(1, Self.count / Self.page) { [self] _, answer in
      ask("limit=\(Self.page)&since=\(answer.flatMap(Self.token) ?? "")")
    }
    return (result.rate * Double(Self.page), try raw(after: 0, times: 1) * Double(Self.count))
  }

  /// Answers a second with the last 100 changes, on 64 connections, and how often SQLite reads them.
  func lastChanges() throws -> (rate: Double, limit: Double) {
    let last = try connection().value("SELECT seq FROM holdfast_zones WHERE zone = ?", [.text(user)])?.integer
    let epoch = try connection().value("SELECT value FROM holdfast_meta WHERE key = 'epoch'")?.text
    guard let last, let epoch else { throw BenchError(text: "the zone is not there") }
    let request = ask("since=\(ChangeToken(epoch: epoch, seq: last - Int64(Self.few)).text)")
    let result = try run(64, 20_000) { _, _ in request }
    return (result.rate, try raw(after: last - Int64(Self.few), times: 20_000))
  }

  private func connection() throws -> SQLiteConnection {
    try SQLiteConnection(path: database.path, access: .readOnly)
  }

  /// How often a second SQLite reads all columns of the changes behind a seq.
  private func raw(after seq: Int64, times: Int) throws -> Double {
    let connection = try connection()
    try connection.execute("PRAGMA mmap_size = 268435456")
    let rows = try connection.statement(
      "SELECT seq, id, rev, text FROM notes WHERE zone = ? AND seq > ? ORDER BY seq")
    var bytes = 0
    let seconds = try Measurement.synchronousSeconds {
      for _ in 0..<times {
        try rows.bind(user, at: 1)
        try rows.bind(seq, at: 2)
        while try rows.step() {
          bytes &+= Int(rows.integer(0) &+ rows.integer(2))
          bytes &+= rows.withText(1) { $0.count } &+ rows.withText(3) { $0.count }
        }
      }
    }
    if bytes == 0 { throw BenchError(text: "there was nothing to read") }
    return Double(times) / seconds
  }

  private func run(
    _ connections: Int, _ requests: Int, _ next: (Int, UnsafeRawBufferPointer?) -> [UInt8]
  ) throws -> LoadGenerator.Result {
    let generator = LoadGenerator(
      port: port, connections: connections, requests: requests, timeLimit: .seconds(120))
    let result = try generator.run(next)
    guard result.errors == 0, result.requests == requests else {
      throw BenchError(text: "\(requests - result.requests + result.errors) of \(requests) requests failed")
    }
    return result
  }

  private func ask(_ query: String) -> [UInt8] {
    Array(
      "GET /v1/zones/\(user)/changes?\(query) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n"
        .utf8)
  }

  /// The token at the end of an answer, whose changes nobody has to read for it.
  private static func token(_ answer: UnsafeRawBufferPointer) -> String? {
    let end = String(decoding: answer.suffix(200), as: UTF8.self)
    return end.components(separatedBy: "\"to\":\"").last?.components(separatedBy: "\"").first
  }
}
