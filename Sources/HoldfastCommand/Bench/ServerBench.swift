import Foundation
import Holdfast
import HoldfastHTTP

/// What the server does under load, beside raw SQLite and beside a constant answer of the same HTTP library.
struct ServerBench {
  let port: UInt16
  /// A token a connection; each belongs to a user of its own.
  let tokens: [String]
  /// The user of each token, whose private zone the creates go to.
  let users: [String]

  /// Durable single-record creates a second.
  func creates(connections: Int, requests: Int, from first: inout [Int64]) throws -> Double {
    var chains = [Fingerprint](repeating: .beginning, count: connections)
    var next = first
    var acks = [String](repeating: "", count: connections)
    let result = try generator(connections, requests).run { connection, answer in
      if let answer, let parsed = try? SyncAnswer(body: Array(answer)) {
        chains[connection] = parsed.chain
        next[connection] = parsed.confirmed + 1
        acks[connection] = parsed.parts.first?.to ?? acks[connection]
      } else if next[connection] > 1 {
        // A first request of a later run only asks where the device stands.
        return request(connection, SyncRequest(), sealed: [])
      }
      var body = SyncRequest()
      body.first = next[connection]
      body.chain = chains[connection]
      if !acks[connection].isEmpty { body.acks = [.init(zone: users[connection], token: acks[connection])] }
      let id = Environment.system.newID()
      let operation = #"[{"op":"create","table":"notes","id":"\#(id)","at":"0000000000010000","columns":{"text":"a note"}}]"#
      return request(connection, body, sealed: [Array(operation.utf8)])
    }
    first = next
    guard result.errors == 0 else { throw BenchError(text: "\(result.errors) of \(result.requests) creates failed") }
    return result.rate
  }

  /// Syncs a second of devices that are up to date.
  func upToDate(connections: Int, requests: Int) throws -> Double {
    // A device that acked everything: said once, and then again and again.
    var prepared = [[UInt8]?](repeating: nil, count: connections)
    var acks = [SyncRequest.Ack?](repeating: nil, count: connections)
    let result = try generator(connections, requests).run { connection, answer in
      if let bytes = prepared[connection] { return bytes }
      guard let answer, let parsed = try? SyncAnswer(body: Array(answer)) else {
        var all = SyncRequest()
        all.isComplete = true
        return request(connection, all, sealed: [])
      }
      if let part = parsed.parts.last {
        acks[connection] = .init(zone: part.zone, token: part.to)
        var next = SyncRequest()
        next.acks = [acks[connection]].compactMap { $0 }
        next.digest = Self.digest(next.acks)
        return request(connection, next, sealed: [])
      }
      var quiet = SyncRequest()
      quiet.digest = Self.digest([acks[connection]].compactMap { $0 })
      let bytes = request(connection, quiet, sealed: [])
      prepared[connection] = bytes
      return bytes
    }
    guard result.errors == 0 else { throw BenchError(text: "\(result.errors) of \(result.requests) syncs failed") }
    return result.rate
  }

  /// A constant answer of the same size from the same HTTP library in a process of its own.
  static func constant(port: UInt16, connections: Int, requests: Int) throws -> Double {
    let bytes = Array("POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".utf8)
    let generator = LoadGenerator(port: port, connections: connections, requests: requests, timeLimit: .seconds(30))
    return try generator.run { _, _ in bytes }.rate
  }

  private func generator(_ connections: Int, _ requests: Int) -> LoadGenerator {
    LoadGenerator(port: port, connections: connections, requests: requests, timeLimit: .seconds(60))
  }

  private func request(_ connection: Int, _ request: SyncRequest, sealed: [[UInt8]]) -> [UInt8] {
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

/// A benchmark that could not be measured.
struct BenchError: Error, CustomStringConvertible {
  let text: String
  var description: String { text }
}
