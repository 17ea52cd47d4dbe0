import Foundation
import Holdfast
import HoldfastHTTP

/// Further work for PostgreSQL: a first download, and small changes to large zones.
struct DeltaBench {
  let port: UInt16
  let sql: PgBench
  /// A token of the user's device.
  let token: String
  let user: String

  /// Fills the user's zone by SQL.
  func fill(_ records: Int) throws {
    try sql.psql(
      """
      SET holdfast.account = '\(user)'; INSERT INTO notes (text) SELECT 'note ' || i FROM generate_series(1, \(records)) i
      """)
  }

  /// Records a second of a first download by pages of 10,000 changes, over one connection.
  func download(pages: Int) throws -> Double {
    var since = ""
    var size = 0
    let end = Array(#""to":""#.utf8)
    let result = try generator(requests: pages).run { _, answer in
      if let answer {
        size += answer.count
        // It stands behind the changes.
        let tail = Array(answer.suffix(300))
        let start = tail.indices.last { tail[$0...].starts(with: end) }.map { $0 + end.count } ?? tail.count
        since = String(decoding: tail[start...].prefix { $0 != UInt8(ascii: "\"") }, as: UTF8.self)
      }
      let target = "/v1/zones/\(user)/changes?limit=10000&since=\(since)"
      return Array("GET \(target) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
    }
    guard result.errors == 0, size > (pages - 1) * 1_000_000 else {
      throw BenchError(text: "\(result.errors) pages failed; \(size) bytes came")
    }
    return result.rate * 10_000
  }

  /// Answers a second with the last 100 changes of the user's zone.
  func lastChanges(connections: Int, requests: Int) throws -> Double {
    let seq = Int64(
      try sql.psql("SELECT seq FROM holdfast.zones WHERE zone = '\(user)'").trimmingCharacters(in: .newlines))
    let epoch = try sql.psql("SELECT value FROM holdfast.meta WHERE key = 'epoch'")
      .trimmingCharacters(in: .newlines)
    guard let seq else { throw BenchError(text: "the zone has no seq") }
    let ack = SyncRequest.Ack(zone: user, token: ChangeToken(epoch: epoch, seq: seq - 100).text)
    var body = SyncRequest()
    body.acks = [ack]
    body.digest = Self.digest(body.acks)
    let bytes = request(body, sealed: [])
    var counted = 0
    let result = try generator(requests: requests, connections: connections).run { _, answer in
      if let answer, let parsed = try? SyncAnswer(body: Array(answer)) {
        counted += parsed.parts.first.map { $0.count == 100 ? 1 : 0 } ?? 0
      }
      return bytes
    }
    guard result.errors == 0, counted >= requests - connections else {
      throw BenchError(text: "\(requests - counted) answers had not 100 changes")
    }
    return result.rate
  }

  private static func digest(_ acks: [SyncRequest.Ack]) -> String {
    var digest = AckDigest()
    for ack in acks { digest.add(zone: ack.zone, token: ack.token ?? "") }
    return digest.text
  }

  private func generator(requests: Int, connections: Int = 1) -> LoadGenerator {
    LoadGenerator(port: port, connections: connections, requests: requests, timeLimit: .seconds(120))
  }

  private func request(_ request: SyncRequest, sealed: [[UInt8]]) -> [UInt8] {
    let body = request.body(sealed: sealed)
    let head = """
      POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
      Authorization: Bearer \(token)\r\nContent-Length: \(body.count)\r\n\r\n
      """
    return Array(head.utf8) + body
  }
}
