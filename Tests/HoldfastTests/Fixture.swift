import Foundation
import Holdfast
import Testing

@testable import Holdfast

/// A store on a file of its own, and a server whose answers the test writes.
final class Fixture: Sendable {
  static let schema = try? SyncSchema(
    name: "test",
    tables: [
      TableSchema(
        "lists", zone: .root, columns: [ColumnSchema("title", .text, required: true, maximumLength: 200)]),
      TableSchema(
        "items", zone: .parent("list_id"),
        columns: [
          ColumnSchema(
            "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
          ColumnSchema("title", .text, required: true, maximumLength: 200),
          ColumnSchema("done", .boolean, required: true, default: .integer(0)),
          ColumnSchema("price", .real),
          ColumnSchema("after_id", .reference, reference: Reference(to: "items", onDelete: .setNull)),
        ], unique: [["title"]]),
      TableSchema("words", zone: .public("dictionary"), columns: [ColumnSchema("text", .text)]),
    ])

  let path: String
  let store: Store

  init(schema: SyncSchema? = nil) throws {
    path =
      FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-\(UUID().uuidString).db").path
    store = try Store(path: path, schema: try schema ?? #require(Self.schema))
  }

  deinit {
    for suffix in ["", "-wal", "-shm", "-pages"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
    }
  }

  /// Binds the store to a device, as a sign-in does.
  func signIn(
    device: String = "0193aaaa-0000-7000-8000-00000000000d", token: String = "t"
  ) async throws {
    let body =
      #"{"user":{"id":"0193aaaa-0000-7000-8000-00000000000a","name":"ann"},"device":{"id":"\#(device)","name":"phone"},"token":"\#(token)"}"#
    let session = try #require(Session(body: Array(body.utf8)))
    try await store.writer.perform { try SessionStart(database: $0).adopt(session) }
  }

  /// Applies an answer with these members to the request that the store would make now.
  @discardableResult
  func answer(_ members: String) async throws -> Applied {
    let state = try await store.writer.perform { try $0.state() }
    let body =
      #"{"clock":"0193aaaa00000000","confirmed":\#(state.confirmed),"chain":"\#(state.confirmedChain.text)",\#(members)}"#
    return try await answer(body: Self.whole(body))
  }

  /// An answer with what a test leaves out: nothing refused, no zones, nothing lost.
  static func whole(_ answer: String) -> [UInt8] {
    var text = answer.dropLast()
    for (member, value) in [("refused", "[]"), ("resend", "false"), ("zones", "[]"), ("lost", "[]")]
    where !answer.contains("\"\(member)\":") {
      text += ",\"\(member)\":\(value)"
    }
    return Array((text + "}").utf8)
  }

  func answer(body: [UInt8]) async throws -> Applied {
    let request = try #require(
      try await store.writer.perform { try RequestPreparation(database: $0).prepare(changeSetLimit: 500) })
    let answer = try SyncAnswer(body: body)
    return try await store.writer.perform {
      try AnswerApplying(database: $0, answer: answer, body: body, request: request).run()
    }
  }

  /// An answer that confirms everything in the outbox, and says the members.
  @discardableResult
  func confirm(_ members: String, refusing first: Int64? = nil) async throws -> Applied {
    let (number, chain) = try await store.writer.perform { local in
      let state = try local.state()
      return (state.nextNumber - 1, state.chain.text)
    }
    let refused =
      first.map {
        #","refused":[{"first":\#($0),"last":\#($0),"operation":\#($0),"problem":{"code":"unique-taken"}}]"#
      } ?? ""
    return try await answer(
      body: Self.whole(
        "{\"clock\":\"0193aaaa00000000\",\"confirmed\":\(number),\"chain\":\"\(chain)\",\(members)\(refused)}"
      ))
  }

  /// An answer that confirms up to the change set that begins at a number, and refuses it.
  @discardableResult
  func refuse(_ first: Int64) async throws -> Applied {
    let row = try await store.writer.perform { local in
      try local.connection.row(
        "SELECT last, chain FROM holdfast_outbox WHERE first = ?", [.integer(first)]) ?? []
    }
    let (last, chain) = (try #require(row.first?.integer), try #require(row.last?.text))
    let refused =
      #"[{"first":\#(first),"last":\#(last),"operation":\#(first),"problem":{"code":"role-insufficient"}}]"#
    return try await answer(
      body: Self.whole(
        #"{"clock":"0193aaaa00000000","confirmed":\#(last),"chain":"\#(chain)","refused":\#(refused)}"#))
  }

  /// The number of the first operation of a change set, counted from 1.
  func first(_ set: Int) async throws -> Int64 {
    try await store.writer.perform { local in
      try local.connection.rows("SELECT first FROM holdfast_outbox ORDER BY first")[set - 1][0].integer ?? 0
    }
  }

  func value(_ sql: String) async throws -> SQLiteValue? {
    try await store.read { try $0.rows(sql).rows.first?.first }
  }

  /// The operations that wait, as JSON.
  func outbox() async throws -> [JSONValue] {
    try await store.writer.perform { local in
      try local.connection.rows("SELECT body FROM holdfast_outbox ORDER BY first").map {
        try JSONValue(parsing: $0[0].blob ?? [])
      }
    }
  }
}

struct List: Record, Equatable {
  static let table = "lists"
  var id: String
  var title: String
}

struct Item: Record, Equatable {
  static let table = "items"
  var id: String
  var list_id: String
  var title: String
  var done = false
  var price: Double?
}

enum IDs {
  static let list = "0193aaaa-0000-7000-8000-000000000001"
  static let other = "0193aaaa-0000-7000-8000-000000000002"
  static let item = "0193aaaa-0000-7000-8000-000000000011"

  /// A part that brings the list.
  static func part(_ changes: String, from: String = "", to: String = "0000000a.2", more: Bool = false)
    -> String
  {
    #""zones":[{"zone":"\#(list)","role":"owner","from":"\#(from)","to":"\#(to)","more":\#(more),"remaining":0,"changes":[\#(changes)]}]"#
  }
  static let listChange = #"{"table":"lists","id":"\#(list)","rev":1,"seq":1,"columns":{"title":"Home"}}"#
  static func itemChange(_ title: String, rev: Int = 1, done: Bool = false) -> String {
    #"{"table":"items","id":"\#(item)","rev":\#(rev),"seq":2,"columns":{"list_id":"\#(list)","title":"\#(title)","done":\#(done),"price":null,"after_id":null}}"#
  }
  static let itemGone =
    #"{"table":"items","id":"\#(item)","rev":9,"seq":3,"deleted":true,"deleted_at":"2026-01-01T00:00:00.000Z"}"#
}
