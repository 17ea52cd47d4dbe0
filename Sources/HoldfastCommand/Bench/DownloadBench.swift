import Foundation
import Holdfast

/// The first download of 100,000 records of 200 bytes, over HTTP into an empty device, beside raw SQLite inserting the same
/// rows in one transaction.
struct DownloadBench {
  let folder: URL
  let runs: Int
  let server: String
  let schema: Schema
  private let count = 100_000

  init(folder: URL, runs: Int, server: String, schema: Schema) {
    (self.folder, self.runs, self.server, self.schema) = (folder, runs, server, schema)
  }

  func measure() async throws -> Measurement.Result {
    let (publisher, engine) = try device("publisher")
    try await engine.signUp(name: "publisher", password: "correct-horse", device: "publisher")
    try await fill(publisher)
    try await engine.sync()
    let rows = try await publisher.read {
      try $0.rows("SELECT id, list_id, title, done, note, position FROM items").rows
    }
    var (rates, limits): ([Double], [Double]) = ([], [])
    for run in 0..<runs {
      limits.append(try await RawSQLite.insert(rows, in: folder, run: run))
      let (store, engine) = try device("device-\(run)")
      try await engine.signIn(name: "publisher", password: "correct-horse", device: "device-\(run)")
      let seconds = try await Measurement.seconds { try await engine.sync() }
      let arrived = try await store.read { try $0.rows("SELECT count(*) FROM items").rows[0][0] }
      guard arrived == .integer(Int64(count)) else { throw BenchError(text: "\(arrived) items arrived") }
      rates.append(Double(count) / seconds)
    }
    return .init(
      name: "records of 200 bytes into an empty device", rate: Measurement.median(rates),
      limitName: "raw SQLite, one transaction", limit: Measurement.median(limits), floor: nil, least: 100_000)
  }

  private func device(_ name: String) throws -> (Store, SyncEngine) {
    guard let url = URL(string: server) else { throw BenchError(text: "no URL: \(server)") }
    let store = try Store(path: folder.appendingPathComponent("\(name).db").path, schema: schema)
    return (store, SyncEngine(store: store, server: url))
  }

  /// Ids, reference, title, note and position of a record are 200 bytes together.
  private func fill(_ store: Store) async throws {
    let list = try await store.write { db in
      let id = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, 'bench')", [.text(id)])
      return id
    }
    for batch in 0..<(count / 5000) {
      try await store.write { db in
        var last: String?
        for number in 0..<5000 {
          let position = try db.position(after: last, before: nil)
          last = position
          let title = "item number \(batch * 5000 + number)"
          let note = String(repeating: "n", count: max(0, 200 - 72 - title.utf8.count - position.utf8.count))
          try db.execute(
            "INSERT INTO items (id, list_id, title, done, note, position) VALUES (?, ?, ?, 0, ?, ?)",
            [.text(db.newID()), .text(list), .text(title), .text(note), .text(position)])
        }
      }
    }
  }
}
