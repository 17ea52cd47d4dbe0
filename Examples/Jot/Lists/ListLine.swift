import Holdfast

/// A list with the counts of its items and members.
struct ListLine: Decodable, Hashable, Sendable {
  let id: String
  let title: String
  let items: Int
  let done: Int
  let members: Int

  static let query = """
    SELECT id, title,
      (SELECT count(*) FROM items WHERE list_id = lists.id) AS items,
      (SELECT count(*) FROM items WHERE list_id = lists.id AND done) AS done,
      coalesce(sharing.members, 0) AS members
    FROM lists LEFT JOIN (SELECT zone, count(*) AS members FROM members GROUP BY zone) AS sharing ON sharing.zone = lists.id
    ORDER BY title COLLATE NOCASE, id
    """

  var open: Int { items - done }
  var isShared: Bool { members > 1 }
  var progress: String { items == 0 ? "empty" : "\(done) of \(items) done" }

  var json: JSONValue {
    .object([
      .init("id", .string(id)), .init("title", .string(title)), .init("items", .integer(Int64(items))),
      .init("done", .integer(Int64(done))), .init("members", .integer(Int64(members))),
    ])
  }
}
