import Holdfast

/// A conflict with the names of what it is about and of who wrote its values.
struct ShownConflict: Sendable {
  struct Side {
    let value: JSONValue?
    let user: String
    /// Whether it was written on this device.
    let isHere: Bool
    let at: String?

    /// The value without the quotes of JSON.
    var text: String? {
      value.map { $0.stringValue ?? String(decoding: $0.bytes, as: UTF8.self) }
    }
    var person: String { isHere ? "\(user), here" : user }
    var time: String { at.map { String($0.dropFirst(11).prefix(8)) } ?? "" }

    var json: JSONValue {
      .object([
        .init("value", value ?? .null), .init("user", .string(user)), .init("here", .bool(isHere)),
        .init("at", JSONValue(at)),
      ])
    }
  }

  let conflict: Conflict
  /// What the record is called.
  let title: String
  /// Whether the record is on this device.
  let isHere: Bool
  /// The id of this device.
  let device: String?
  /// Names of users by their ids.
  let names: [String: String]

  var short: String { conflict.short }
  var column: String { conflict.column }
  var policy: String { conflict.policy }
  /// Whether it waits for an answer, which can only be to keep what is where the record is gone.
  var openness: String { conflict.isOpen ? isHere ? "open" : "open, record gone" : "" }
  /// What stands for the value of a side that has none.
  var nothing: String { conflict.isDeletion ? "the deletion" : "nothing" }
  /// The value that both edits began from, as a person reads it.
  var base: String? { conflict.base.map { $0.stringValue ?? String(decoding: $0.bytes, as: UTF8.self) } }
  var winner: Side { side(conflict.winner) }
  var loser: Side { side(conflict.loser) }

  /// A side with who wrote it, and when.
  func line(of side: Side) -> String {
    let who = side.isHere ? "mine" : side.user.isEmpty ? "theirs" : "of \(side.user)"
    return "\(side.text ?? nothing)  (\(who), \(side.at ?? "no time"))"
  }

  private func side(_ side: Conflict.Side) -> Side {
    let user = side.user ?? ""
    return Side(
      value: side.value, user: names[user] ?? user, isHere: device != nil && side.device == device,
      at: side.at)
  }

  var json: JSONValue {
    .object([
      .init("id", .string(conflict.id)), .init("short", .string(short)),
      .init("table", .string(conflict.recordTable)), .init("record", .string(title)),
      .init("column", .string(column)), .init("policy", .string(policy)),
      .init("base", conflict.base ?? .null), .init("kept", winner.json), .init("not_kept", loser.json),
      .init("open", .bool(conflict.isOpen)), .init("resolution", JSONValue(conflict.resolution?.rawValue)),
      .init("resolved_by", JSONValue(conflict.resolvedBy.map { names[$0] ?? $0 })),
      .init("resolved_at", JSONValue(conflict.resolvedAt)),
    ])
  }
}

extension Conflict {
  /// What a person types for it.
  var short: String { String(id.suffix(6)) }

  /// What a record is called that is not here, as far as the conflict says it.
  var titleWithoutRecord: String {
    (column == "title" ? loser.value?.stringValue : nil) ?? "\(recordTable) \(recordID.suffix(6))"
  }
}

extension Store {
  /// All conflicts, open questions first.
  func shownConflicts() async throws -> [ShownConflict] {
    let device = try await account()?.device
    return try await read { database in
      let members = try database.fetch(Member.self, "SELECT * FROM members WHERE user IS NOT NULL")
      let names = Dictionary(members.map { ($0.user ?? "", $0.label) }, uniquingKeysWith: { $1 })
      let conflicts = try database.conflicts()
      let ordered = conflicts.filter(\.isOpen) + conflicts.filter { !$0.isOpen }
      return try ordered.map {
        let title = try database.titleOfRecord(in: $0)
        return ShownConflict(
          conflict: $0, title: title ?? $0.titleWithoutRecord, isHere: title != nil, device: device,
          names: names)
      }
    }
  }
}

extension Database {
  /// The title of the record of a conflict; nil where it is not on this device.
  func titleOfRecord(in conflict: Conflict) throws -> String? {
    try first(
      String.self, "SELECT title FROM items WHERE id = ?1 UNION ALL SELECT title FROM lists WHERE id = ?1",
      [.text(conflict.recordID)])
  }

  /// The conflict whose id is, or ends with, what was typed.
  func conflict(_ words: String) throws -> Conflict {
    let matches = try conflicts().filter { $0.id.hasSuffix(words) }
    guard let match = matches.first, !words.isEmpty else {
      throw Failure(.data, "There is no conflict \"\(words)\" on this device. `jot conflicts` shows them.")
    }
    if matches.count > 1 {
      throw Failure(
        .data,
        "\(matches.count) conflicts end so; say more of the id:\(matches.map { "\n  \($0.id)" }.joined())")
    }
    return match
  }
}
