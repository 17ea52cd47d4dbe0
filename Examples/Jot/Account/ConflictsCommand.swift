import Holdfast

extension Command {
  static let conflicts = Command(
    "conflicts", "show edits that met, with both values",
    details:
      "The value that was kept is in the list; the other one can be looked up here, and typed in again.",
    options: [.json]
  ) { call in
    let store = try call.open().store
    let device = SQLiteValue.text(try await store.account()?.device ?? "")
    let conflicts = try await store.read { try $0.fetch(Conflict.self, Conflict.query, [device]) }
    call.show(.array(conflicts.map(\.json))) { terminal in
      if conflicts.isEmpty { return "No edits met.\n" }
      var columns = Columns("record", "column", "kept", "by", "at", "not kept", "by", "at", "policy")
      for conflict in conflicts {
        columns.add(
          conflict.title, conflict.column, conflict.winner.text ?? conflict.nothing, conflict.winner.person,
          conflict.winner.time,
          conflict.loser.text ?? conflict.nothing, conflict.loser.person, conflict.loser.time, conflict.policy
        )
      }
      return columns.text(terminal)
    }
  }
}

/// What `jot conflicts` shows of a record of `conflicts`.
private struct Conflict: Decodable, Sendable {
  struct Side {
    let value: String?
    let user: String
    /// Whether it was written on this device.
    let isHere: Bool
    let at: String?

    /// The value without the quotes of JSON.
    var text: String? { value.map { (try? JSONValue(parsing: $0))?.stringValue ?? $0 } }
    var person: String { isHere ? "\(user), here" : user }
    var time: String { at.map { String($0.dropFirst(11).prefix(8)) } ?? "" }

    var json: JSONValue {
      .object([
        .init("value", value.flatMap { try? JSONValue(parsing: $0) } ?? .null), .init("user", .string(user)),
        .init("here", .bool(isHere)), .init("at", JSONValue(at)),
      ])
    }
  }

  let id: String
  let table: String
  let title: String
  let column: String
  let policy: String
  let winnerValue: String?
  let winnerUser: String
  let winnerIsHere: Bool
  let winnerAt: String?
  let loserValue: String?
  let loserUser: String
  let loserIsHere: Bool
  let loserAt: String?

  /// What stands for the value of a side that has none.
  var nothing: String { policy == "delete" ? "the deletion" : "nothing" }
  var winner: Side { Side(value: winnerValue, user: winnerUser, isHere: winnerIsHere, at: winnerAt) }
  var loser: Side { Side(value: loserValue, user: loserUser, isHere: loserIsHere, at: loserAt) }

  // Users are shown by their name, as far as they are members of a list that is here, and this device as such.
  static let query = """
    SELECT id, record_table AS "table", column_name AS "column", policy,
      coalesce((SELECT title FROM items WHERE id = record_id), (SELECT title FROM lists WHERE id = record_id),
        iif(column_name = 'title', json_extract(loser_value, '$'), NULL), record_table || ' ' || substr(record_id, -6)) AS title,
      winner_value AS winnerValue, winner_at AS winnerAt, loser_value AS loserValue, loser_at AS loserAt,
      coalesce((SELECT name FROM members WHERE user = winner_user), winner_user, '')
        AS winnerUser, ifnull(winner_device = ?1, 0) AS winnerIsHere,
      coalesce((SELECT name FROM members WHERE user = loser_user), loser_user, '')
        AS loserUser, ifnull(loser_device = ?1, 0) AS loserIsHere
    FROM conflicts ORDER BY coalesce(loser_at, winner_at), id
    """

  var json: JSONValue {
    .object([
      .init("id", .string(id)), .init("table", .string(table)), .init("record", .string(title)),
      .init("column", .string(column)), .init("policy", .string(policy)), .init("kept", winner.json),
      .init("not_kept", loser.json),
    ])
  }
}
