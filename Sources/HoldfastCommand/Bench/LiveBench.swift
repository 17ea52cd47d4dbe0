import Foundation
import Holdfast

/// How soon a live query has its new result.
struct LiveBench {
  private static let lists = 1000
  private static let items = 100

  let folder: URL
  let schema: SyncSchema
  let runs: Int

  /// The time from the end of a write of one row until a query of 100 rows, out of 100,000, has its new result. Where the change touches no row of a
  /// query, all of that is done but to hand the result over.
  func measure() async throws -> Measurement.Result {
    let store = try Store(path: folder.appendingPathComponent("live.db").path, schema: schema)
    let shown = try await fill(store)
    let results = store.live(
      Title.self, "SELECT title FROM items WHERE list_id = ? ORDER BY position, id", [.text(shown.list)])
    var times: [Double] = []
    var ended = ContinuousClock.now
    var number = 0
    for try await titles in results {
      guard titles.count == Self.items else { throw BenchError(text: "\(titles.count) rows are live") }
      if number > 0 { times.append(Self.microseconds(.now - ended)) }
      if number == 100 * runs { break }
      number += 1
      try await store.write { [number] db in
        try db.execute(
          "UPDATE items SET title = ? WHERE id = ?", [.text("title \(number)"), .text(shown.item)])
      }
      ended = .now
    }
    await store.close()
    return .init(
      name: "a live query out of 100,000 rows, until new", rate: Measurement.median(times),
      limitName: "limit", limit: 1000, floor: nil, most: 1000, unit: " us")
  }

  private struct Title: Decodable, Sendable { let title: String }

  private static func microseconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.components
    return Double(seconds) * 1e6 + Double(attoseconds) / 1e12
  }

  /// Makes the rows; gives a list, and an item of it.
  private func fill(_ store: Store) async throws -> (list: String, item: String) {
    var shown: (list: String, item: String)?
    for _ in 0..<(Self.lists / 50) {
      shown = try await store.write { db in
        var last = ("", "")
        for _ in 0..<50 {
          let list = db.newID()
          try db.execute("INSERT INTO lists (id, title) VALUES (?, 'live')", [.text(list)])
          let position = try db.position(after: nil, before: nil)
          for number in 0..<Self.items {
            let item = db.newID()
            try db.execute(
              "INSERT INTO items (id, list_id, title, done, position) VALUES (?, ?, ?, 0, ?)",
              [.text(item), .text(list), .text("item \(number)"), .text(position)])
            last = (list, item)
          }
        }
        return last
      }
    }
    guard let shown else { throw BenchError(text: "there are no rows") }
    return shown
  }
}
