import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

/// A folder of its own, which goes with the test.
final class FolderFixture: Sendable {
  let path: String
  let schema: SyncSchema

  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("holdfast-\(UUID().uuidString)").path
    schema = try #require(Fixture.schema)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func open(
    environment: StoreEnvironment = .system, onStep: @escaping @Sendable (FolderFiles.Step) -> Void = { _ in }
  ) throws -> StoreFolder {
    try StoreFolder(path: path, schema: schema, environment: environment, onStep: onStep)
  }

  func file(_ name: String) -> String { "\(path)/\(name).db" }

  /// A folder with the database `b`, and a list with an item in each file.
  func filled() async throws -> StoreFolder {
    let folder = try open()
    try await folder.add("b")
    for (number, store) in [folder.home, try #require(folder.store(of: "b"))].enumerated() {
      try await store.write { db in
        let list = SeveralFiles.id(number * 100)
        try db.insert(List(id: list, title: number == 0 ? "Home" : "Work"))
        try db.insert(Item(id: SeveralFiles.id(number * 100 + 1), list_id: list, title: "t\(number)"))
      }
    }
    return folder
  }

  /// Overwrites the first page of a table or an index of a file that nobody has open.
  func damage(_ name: String, _ table: String) throws {
    let page = try #require(
      try SQLiteConnection(path: file(name)).value(
        "SELECT rootpage FROM sqlite_schema WHERE name = ?", [.text(table)])?.integer)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: file(name)))
    try file.seek(toOffset: UInt64(page - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xEE, count: 4096))
    try file.close()
  }

  static func titles(_ folder: StoreFolder) async throws -> [String] {
    try await folder.read { try $0.fetch(List.order(by: \.title)).map(\.title) }
  }
}
