import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// A server with lists in order: of a root, of a group in it, of a whole zone.
struct ListServer {
  static let schema = """
    {"holdfast": 1, "name": "ordered", "tables": {
      "boards": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
      "groups": {"zone": {"parent": "board_id"}, "columns": {
        "board_id": {"type": "reference", "to": "boards", "required": true, "on_delete": "cascade"},
        "position": {"type": "position"}}},
      "cards": {"zone": {"parent": "board_id"}, "columns": {
        "board_id": {"type": "reference", "to": "boards", "required": true, "on_delete": "cascade"},
        "group_id": {"type": "reference", "to": "groups", "on_delete": "set_null"},
        "title": {"type": "text"},
        "position": {"type": "position", "required": true, "within": "group_id"}}},
      "marks": {"zone": "user", "columns": {"position": {"type": "position"}, "title": {"type": "text"}}}
    }}
    """

  let server: TestServer
  let alice: TestDevice
  let rest: RestClient

  init() throws {
    server = try TestServer(try SyncSchema(json: Array(Self.schema.utf8)))
    alice = try server.signUp("alice")
    rest = RestClient(alice)
  }

  func board() throws -> String { try rest.create("boards", ["title": "Board"]) }

  func group(_ board: String) throws -> String {
    try rest.create("groups", ["board_id": .string(board), "position": ["at": "last"]])
  }

  /// What a card is made of.
  static func card(_ board: String, _ group: String?, _ position: JSONValue) -> JSONValue {
    [
      "board_id": .string(board), "group_id": group.map { .string($0) } ?? .null, "position": position,
    ]
  }

  func card(_ board: String, _ group: String?, _ position: JSONValue) throws -> String {
    try rest.create("cards", Self.card(board, group, position))
  }

  /// The ids of a list in its order, as an index gives them.
  func order(_ group: String) throws -> [String] {
    try alice.get("/v1/tables/cards?where.group_id=\(group)&order=position").ids
  }
}
