import Holdfast

/// Makes places in ordered lists under this device's name.
struct PositionMaker: Sendable {
  private let replica: Position.Replica?

  init(name: String) { replica = Position.Replica(String(name.prefix(Position.Replica.length))) }

  /// A place between two neighbours; nil stands for the list's start or end.
  func between(_ left: String?, _ right: String?) throws -> String {
    guard let replica else { throw Failure(.other, "The database has no name to make positions under.") }
    return Position.between(
      try left.map { try Position(validating: $0) }, try right.map { try Position(validating: $0) }, replica: replica,
      nonce: Environment.system.random()
    ).string
  }

  /// The place behind the last item of a list.
  func end(of list: List, _ database: Database) throws -> String {
    let last = try database.first(
      String.self, "SELECT position FROM items WHERE list_id = ? ORDER BY position DESC, id DESC LIMIT 1", [.text(list.id)])
    return try between(last, nil)
  }
}
