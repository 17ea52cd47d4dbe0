import HoldfastTesting

/// The app that the tests are of: lists with items.
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
  var note: String?
  var position = ""
}

enum Shopping {
  static func schema(_ more: [ColumnSchema] = []) throws -> SyncSchema {
    try SyncSchema(
      name: "shopping",
      tables: [
        TableSchema("lists", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
        TableSchema(
          "items", zone: .parent("list_id"),
          columns: [
            ColumnSchema(
              "list_id", .reference, required: true, reference: Reference(to: "lists", onDelete: .cascade)),
            ColumnSchema("title", .text, required: true), ColumnSchema("note", .text, policy: .ask),
            ColumnSchema("position", .position, required: true),
          ] + more),
      ])
  }
}

extension TestDevice {
  /// Makes a list with items, and returns its id.
  func makeList(_ title: String, _ items: [String] = []) async throws -> String {
    try await store.write { db in
      let list = List(id: db.newID(), title: title)
      try db.insert(list)
      try db.insert(
        items.map { Item(id: db.newID(), list_id: list.id, title: $0) }, at: .last)
      return list.id
    }
  }

  func add(_ item: String, to list: String) async throws {
    try await store.write { db in
      try db.insert([Item(id: db.newID(), list_id: list, title: item)], at: .last)
    }
  }

  func lists() async throws -> [String] {
    try await store.read { try $0.fetch(List.self, "SELECT * FROM lists ORDER BY title").map(\.title) }
  }

  func items() async throws -> [String] {
    try await store.read { db in
      try db.fetch(Item.self, "SELECT * FROM items ORDER BY position, id").map(\.title)
    }
  }

  func rename(_ list: String, to title: String) async throws {
    try await store.write { try $0.update(List.self, id: list) { $0.title = title } }
  }
}
