import HoldfastCore

/// A REST client of a person, without a local copy. It sends requests, each with its own id, and repeats each until it is answered.
final class Clerk {
  /// A request of a clerk.
  final class Errand {
    let id: String
    let method: String
    let path: String
    let body: JSONValue?
    /// The token that it writes, and where. The record is unknown if the server creates its id.
    let token: Int?
    let key: RecordKey?
    let column: String
    /// The server's time when it executed the request.
    var doneAt: Int64?
    /// The server's first answer that was no failure.
    var answer: (status: Int, body: [UInt8])?
    var isAnswered = false
    /// The number of times it was sent.
    var attempts = 0

    init(
      id: String, _ method: String, _ path: String, _ body: JSONValue? = nil, token: Int? = nil,
      key: RecordKey? = nil,
      column: String = ""
    ) {
      (self.id, self.method, self.path, self.body) = (id, method, path, body)
      (self.token, self.key, self.column) = (token, key, column)
    }
  }

  /// The name of the account.
  let user: String
  /// The account's id, after sign-in.
  var userID = ""
  var token: String?
  var errands = 0

  init(user: String) { self.user = user }

  var name: String { "clerk of \(user)" }
}

/// Chooses a clerk's next request from the server's state.
struct ErrandChoice {
  let view: ServerView
  let user: String
  let isPeaceful: Bool
  var chance: Chance
  let token: Int

  mutating func errand(id: String) -> Clerk.Errand {
    switch chance.below(isPeaceful ? 4 : 8) {
    case 0: return makeNote(id)
    case 1: return makeItem(id) ?? makeNote(id)
    case 2, 3, 4: return change(id) ?? makeNote(id)
    case 5: return makeListWithItem(id)
    case 6: return delete(id) ?? makeNote(id)
    default: return replace(id) ?? makeNote(id)
    }
  }

  private var text: JSONValue { .string(Tokens.text(token)) }

  private func makeNote(_ id: String) -> Clerk.Errand {
    // Without an id: only the request's id prevents duplicates.
    .init(id: id, "POST", "/v1/tables/notes", ["columns": ["text": text]], token: token, column: "text")
  }

  private mutating func makeItem(_ id: String) -> Clerk.Errand? {
    guard let list = pick("lists") else { return nil }
    let columns: JSONValue = ["list_id": .string(list.id), "title": text, "position": place()]
    return .init(id: id, "POST", "/v1/tables/items", ["columns": columns], token: token, column: "title")
  }

  private mutating func makeListWithItem(_ id: String) -> Clerk.Errand {
    let (list, item) = (newID(), newID())
    let operations: JSONValue = [
      [
        "op": "create", "table": "items", "id": .string(item),
        "columns": ["list_id": .string(list), "title": text, "position": place()],
      ],
      ["op": "create", "table": "lists", "id": .string(list), "columns": ["title": "by a program"]],
    ]
    return .init(
      id: id, "POST", "/v1/batch", ["operations": operations], token: token,
      key: RecordKey(table: "items", id: item), column: "title")
  }

  private mutating func change(_ id: String) -> Clerk.Errand? {
    guard let (key, column) = pickText() else { return nil }
    return .init(
      id: id, "PATCH", "/v1/tables/\(key.table)/\(key.id)", ["columns": .object([.init(column, text)])],
      token: token,
      key: key, column: column)
  }

  private mutating func replace(_ id: String) -> Clerk.Errand? {
    guard let key = pick("notes") else { return nil }
    return .init(
      id: id, "PUT", "/v1/tables/notes/\(key.id)", ["columns": ["text": text]], token: token, key: key,
      column: "text")
  }

  private mutating func delete(_ id: String) -> Clerk.Errand? {
    guard let key = pick(chance.pick(["items", "notes", "parts", "lists"]) ?? "items") else { return nil }
    return .init(id: id, "DELETE", "/v1/tables/\(key.table)/\(key.id)", key: key)
  }

  private mutating func pickText() -> (RecordKey, String)? {
    let (table, column) =
      chance.pick([("items", "title"), ("items", "note"), ("notes", "text"), ("lists", "title")]) ?? ("", "")
    return pick(table).map { ($0, column) }
  }

  /// A record of a table; occasionally one that the user may not see.
  private mutating func pick(_ table: String) -> RecordKey? {
    let zones = view.zones(of: user)
    let isBold = !isPeaceful && chance.one(in: 10)
    return chance.pick(
      view.tables.filter { $0.key.table == table && (isBold || zones.contains($0.value.zone ?? "")) }.map(
        \.key
      ).sorted())
  }

  private mutating func place() -> JSONValue {
    .string(
      Position.between(nil, nil, replica: Position.Replica(random: chance.next()), nonce: chance.next())
        .string)
  }

  private mutating func newID() -> String {
    Identifier.make(milliseconds: World.beginning, random: (chance.next(), chance.next()))
  }
}
