import Foundation
import Holdfast
import HoldfastCore
import Testing

/// A client of one zone that works by the algorithm of `TimestampDirtyTests`: rows with Ts, Dirty and Deleted, and REST. It remembers the token of
/// what it has read, and not the greatest number that it has.
final class TimestampClient {
  struct Row {
    let table: String
    var columns: [String: JSONValue]
    /// The number of the last change; nil for a row that was made here.
    var timestamp: Int64?
    /// The revision that the columns are based on.
    var rev: Int64?
    /// The columns that were changed here.
    var dirty: Set<String> = []
    var isDeleted = false
  }

  let rest: RestConnection
  let zone: String
  private(set) var rows: [String: Row] = [:]
  /// The ids in the order in which they came.
  private(set) var order: [String] = []
  private var token = ""

  init(_ rest: RestConnection, zone: String) {
    self.rest = rest
    self.zone = zone
  }

  // MARK: Edits

  func insert(_ table: String, _ columns: [String: JSONValue]) -> String {
    let id = StoreEnvironment.system.newID()
    rows[id] = Row(table: table, columns: columns, dirty: Set(columns.keys))
    return id
  }

  func update(_ id: String, _ columns: [String: JSONValue]) {
    rows[id]?.columns.merge(columns) { $1 }
    rows[id]?.dirty.formUnion(columns.keys)
  }

  func delete(_ id: String) { rows[id]?.isDeleted = true }

  // MARK: Syncing

  func sync() throws {
    try download()
    try upload()
  }

  /// Takes what changed since the last time. A dirty column keeps its value; what the server makes of it is its answer to the upload.
  func download(limit: Int = 100) throws {
    var more = true
    while more {
      let answer = try rest.send("GET", "/v1/zones/\(zone)/changes?limit=\(limit)&since=\(token)")
      try #require(answer.status == 200)
      for change in answer.json["changes"]?.elements ?? [] { take(change) }
      token = answer.json["to"]?.stringValue ?? ""
      more = answer.json["more"] == true
    }
  }

  private func take(_ change: JSONValue) {
    guard let id = change["id"]?.stringValue, let table = change["table"]?.stringValue else { return }
    order.append(id)
    if change["deleted"] == true {
      rows[id] = nil
      return
    }
    var row = rows[id] ?? Row(table: table, columns: [:])
    for column in change["columns"]?.members ?? [] where !row.dirty.contains(column.name) {
      row.columns[column.name] = column.value
    }
    row.timestamp = change["seq"]?.integerValue
    // The base of what is dirty stays: the server is to see what the edit did not know of.
    if row.dirty.isEmpty { row.rev = change["rev"]?.integerValue }
    rows[id] = row
  }

  /// Sends creates, then updates, then deletes, and takes the record of each answer.
  func upload() throws {
    for (id, row) in rows where row.timestamp == nil {
      let body: JSONValue = ["id": .string(id), "columns": object(row, row.dirty)]
      try settle(id, rest.send("POST", "/v1/tables/\(row.table)", body, id: id), expected: 201)
    }
    for (id, row) in rows where !row.dirty.isEmpty && !row.isDeleted {
      let body: JSONValue = ["rev": row.rev.map { .integer($0) } ?? .null, "columns": object(row, row.dirty)]
      try settle(id, rest.send("PATCH", "/v1/tables/\(row.table)/\(id)", body), expected: 200)
    }
    for (id, row) in rows where row.isDeleted {
      #expect(try rest.send("DELETE", "/v1/tables/\(row.table)/\(id)").status == 200)
      rows[id] = nil
    }
  }

  private func object(_ row: Row, _ columns: Set<String>) -> JSONValue {
    .object(columns.sorted().map { .init($0, row.columns[$0] ?? .null) })
  }

  private func settle(_ id: String, _ answer: RestConnection.Answer, expected: Int) throws {
    try #require(answer.status == expected)
    rows[id]?.dirty = []
    take(answer.json)
  }
}
