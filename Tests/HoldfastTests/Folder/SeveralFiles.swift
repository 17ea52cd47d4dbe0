import Foundation
import HoldfastSystem
import Testing

@testable import Holdfast

/// Two files, home and `b`, which a connection reads as one; and a third file that has the records of both.
final class SeveralFiles: Sendable {
  let home: Fixture
  let other: Fixture
  let both: Fixture
  private let lost = Locked<[AttachedFiles.Loss]>([])
  /// What was left out.
  var losses: [AttachedFiles.Loss] { lost.withLock { $0 } }

  init() async throws {
    (home, other, both) = (try Fixture(), try Fixture(), try Fixture())
    for (number, fixture) in [home, other].enumerated() {
      for store in [fixture.store, both.store] { try await Self.fill(store, number) }
    }
  }

  static func id(_ number: Int) -> String {
    "0193aaaa-0000-7000-8000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
  }

  private static func fill(_ store: Store, _ file: Int) async throws {
    let base = file * 100
    try await store.write { db in
      try db.insert(List(id: id(base), title: file == 0 ? "Home" : "Work"))
      for number in 1...9 {
        // By turns from the two files in the order of titles, and of prices.
        try db.insert(
          Item(
            id: id(base + number), list_id: id(base), title: "t\(number).\(file)", done: number % 2 == 0,
            price: number == 5 ? nil : Double(number * 2 + file)))
      }
      try db.insert(
        Member(id: id(base + 50), zone: id(base), name: file == 0 ? "bob" : "carl", role: .editor))
    }
  }

  /// A connection that reads both files.
  func queue(_ paths: [(name: String, path: String)]? = nil) throws -> DatabaseQueue {
    let files = (paths ?? [("b", other.path)]).map { AttachedFiles.File(name: $0.name, path: $0.path) }
    return try DatabaseQueue(label: "test") { [home, lost] in
      let database = try DatabaseOpening(
        path: home.path, schema: home.store.schema, access: .readOnly, replica: ""
      ).open()
      database.databaseInFolder = "home"
      try database.attach(files, cacheSize: 1 << 20) { loss in lost.withLock { $0.append(loss) } }
      return database
    }
  }

  static func read<T>(_ queue: DatabaseQueue, _ body: (Database) throws -> T) throws -> T {
    try queue.performNow { local in
      try local.reading { try body(Database(local: local, environment: .system)) }
    }
  }
}
