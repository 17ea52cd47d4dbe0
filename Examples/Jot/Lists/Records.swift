import Holdfast

/// A list: the root of its zone, so that sharing it shares its items.
struct List: Record {
  static let table = "lists"
  let id: String
  var title: String
}

/// An item of a list.
struct Item: Record, Hashable {
  static let table = "items"
  /// The items of a list, whose id is the argument.
  static let ofList = "SELECT * FROM items WHERE list_id = ? ORDER BY position, id"
  let id: String
  let listID: String
  var title: String
  var done = false
  var note: String?
  var amount = 1
  var tags: [String]?
  /// Its place: the list's order is the order of these texts.
  var position: String

  enum CodingKeys: String, CodingKey {
    case id, listID = "list_id", title, done, note, amount, tags, position
  }

  var json: JSONValue {
    .object([
      .init("id", .string(id)), .init("title", .string(title)), .init("done", .bool(done)),
      .init("note", JSONValue(note)), .init("amount", .integer(Int64(amount))),
      .init("tags", .array((tags ?? []).map { .string($0) })), .init("position", .string(position)),
    ])
  }
}

/// Somebody who belongs to a list. The table is built in; inserting into it shares the list.
struct Member: Record {
  static let table = "members"
  let id: String
  let zone: String
  var user: String?
  var name: String?
  var role: String
  /// The zone whose members it is.
  var group: String?
  /// Who invited a member that has not accepted yet; the server writes it.
  var invitedBy: String?

  enum CodingKeys: String, CodingKey {
    case id, zone, user, name, role, group, invitedBy = "invited_by"
  }

  /// The name of the account, or its id as long as the server has not said the name; of a group its zone.
  var label: String { name ?? user ?? group.map { "members of \($0)" } ?? "" }
}

extension JSONValue {
  /// The text, or null.
  init(_ text: String?) { self = text.map { .string($0) } ?? .null }
}
