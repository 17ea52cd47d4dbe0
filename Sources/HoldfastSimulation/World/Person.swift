import Holdfast
import HoldfastCore
import HoldfastSQLite

/// A person's use of the app in one transaction: a few random edits of the records on the device.
struct Person {
  let db: Database
  var chance: Chance
  private let isPeaceful: Bool
  /// The number of the last token; each is written once in a run.
  private var token: Int

  init(_ db: Database, _ command: Command, isPeaceful: Bool) {
    self.db = db
    self.isPeaceful = isPeaceful
    chance = Chance(seed: command.seed)
    token = command.index * 64
  }

  /// Makes some edits.
  ///
  /// - Throws: a violation of the schema's rules; the whole transaction is then rolled back.
  mutating func edit() throws {
    for _ in 0...chance.below(4) { try editOnce() }
  }

  private mutating func editOnce() throws {
    guard let list = try pick("lists") else { return try makeList() }
    if chance.one(in: 4) { return try editCard(in: list) }
    if !isPeaceful, chance.one(in: 10) { return try choose() }
    switch chance.below(isPeaceful ? 12 : 24) {
    case 0: try makeList()
    case 1, 2: try makeItem(in: list)
    case 3: try rename("lists", "title")
    case 4, 5: try rename("items", chance.one(in: 3) ? "note" : "title")
    case 6: try makePart()
    case 7: try makePairs(in: list)
    case 8: try run("INSERT INTO notes (id, \(noteText())) VALUES (?, ?)", [id(), newToken()])
    case 9: try rename("notes", noteText())
    case 10: try chance.one(in: 3) ? order(list) : reorder()
    case 11: try rename("parts", "text")
    case 12: try delete()
    case 13: try move(to: list)
    case 14: try chain()
    case 15: try group(in: list)
    case 16, 17: try share(list)
    case 18: try link()
    case 19: try takeCode()
    case 20: try bringBack()
    case 21: try pretendCatalogue()
    case 22: try leave()
    default: try ungroup()
    }
  }

  // MARK: Edits

  private mutating func makeList() throws {
    let list = id()
    // Occasionally the children come first, because foreign keys are checked at the commit.
    let isLast = chance.one(in: 3)
    if isLast {
      try run(
        "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, ?, ?)",
        [id(), list, newToken(), .text(try db.position(after: nil, before: nil))])
    }
    try run("INSERT INTO lists (id, title) VALUES (?, ?)", [list, newToken()])
  }

  private mutating func makeItem(in list: String) throws {
    let last = try db.first(
      String.self, "SELECT position FROM items WHERE list_id = ? ORDER BY position DESC, id DESC LIMIT 1",
      [.text(list)])
    let position = try db.position(after: chance.one(in: 3) ? nil : last, before: nil)
    try run(
      "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, ?, ?)",
      [id(), .text(list), newToken(), .text(position)])
  }

  private mutating func makePart() throws {
    guard let item = try pick("items") else { return }
    try run("INSERT INTO parts (id, item_id, text) VALUES (?, ?, ?)", [id(), .text(item), newToken()])
  }

  /// A group of rows that always stay together.
  private mutating func makePairs(in list: String) throws {
    let size = 2 + chance.below(3)
    token += 1
    let name = SQLiteValue.text("pair \(token)")
    for _ in 0..<size {
      try run(
        "INSERT INTO pairs (id, list_id, pair, size) VALUES (?, ?, ?, ?)",
        [id(), .text(list), name, .integer(Int64(size))])
    }
  }

  private mutating func rename(_ table: String, _ column: String) throws {
    guard let record = try pick(table) else { return }
    try run("UPDATE \(table) SET \(column) = ? WHERE id = ?", [newToken(), .text(record)])
  }

  /// The name of the text column of notes in this version of the app.
  private func noteText() throws -> String {
    try db.first(String.self, "SELECT name FROM pragma_table_info('notes') WHERE name = 'wording'") ?? "text"
  }

  /// Edits a record whose columns combine concurrent edits, each with another policy.
  private mutating func editCard(in list: String) throws {
    guard !chance.one(in: 5), let card = try pick("cards") else {
      return try run(
        "INSERT INTO cards (id, list_id, stock, body) VALUES (?, ?, ?, ?)",
        [id(), .text(list), .integer(Int64(chance.below(3))), newToken()])
    }
    switch chance.below(6) {
    case 0, 1:
      try run(
        "UPDATE cards SET stock = max(0, coalesce(stock, 0) + ?) WHERE id = ?",
        [.integer(Int64(chance.below(9)) - (isPeaceful ? 0 : 3)), .text(card)])
    case 2: try tag(card)
    case 3: try rename("cards", chance.one(in: 2) ? "answer" : "said")
    default: try rewrite(card)
    }
  }

  /// Resolves a conflict: keeps the winner, or takes the loser. A single row of a group is never restored.
  private mutating func choose() throws {
    let open = try db.conflicts().filter { $0.resolution == nil && $0.recordTable != "pairs" }
    guard let conflict = chance.pick(open) else { return }
    // A value that can't be restored stays as it is.
    do { try db.resolve(conflict, taking: chance.one(in: 2) ? .winner : .loser) } catch is StoreError {}
  }

  /// Adds an element to a set, or removes one.
  private mutating func tag(_ card: String) throws {
    if chance.one(in: 3) {
      try run(
        """
        UPDATE cards SET tags = (SELECT json_group_array(value) FROM json_each(cards.tags) WHERE key <> ?)
        WHERE id = ? AND json_array_length(tags) > 0
        """, [.integer(Int64(chance.below(3))), .text(card)])
    } else {
      try run(
        "UPDATE cards SET tags = json_insert(coalesce(tags, '[]'), '$[#]', ?) WHERE id = ?",
        [newToken(), .text(card)])
    }
  }

  /// Adds a word to a text, removes one, or replaces one.
  private mutating func rewrite(_ card: String) throws {
    let text = try db.first(String.self, "SELECT coalesce(body, '') FROM cards WHERE id = ?", [.text(card)])
    var words = (text ?? "").split(separator: " ").map(String.init)
    let place = chance.below(words.count + 1)
    switch chance.below(4) {
    case 0 where place < words.count: words.remove(at: place)
    case 1 where place < words.count: words[place] = newWord()
    default: words.insert(newWord(), at: place)
    }
    try run("UPDATE cards SET body = ? WHERE id = ?", [.text(words.joined(separator: " ")), .text(card)])
  }

  private mutating func reorder() throws {
    guard let item = try pick("items") else { return }
    let rows = try db.rows(
      "SELECT position FROM items WHERE list_id = (SELECT list_id FROM items WHERE id = ?) ORDER BY position, id",
      [.text(item)]
    ).rows.compactMap { $0[0].text }
    let place = chance.below(rows.count + 1)
    let left = place > 0 ? rows[place - 1] : nil
    let right = place < rows.count ? rows[place] : nil
    if let left, let right, left >= right { return }
    try run(
      "UPDATE items SET position = ?, done = 1 - done WHERE id = ?",
      [.text(try db.position(after: left, before: right)), .text(item)])
  }

  private mutating func delete() throws {
    let table =
      chance.pick(["lists", "items", "items", "items", "parts", "notes", "links", "groups"]) ?? "items"
    guard table != "lists" || chance.one(in: 3), let record = try pick(table) else { return }
    try run("DELETE FROM \(table) WHERE id = ?", [.text(record)])
  }

  private mutating func move(to list: String) throws {
    guard let item = try pick("items") else { return }
    try run("UPDATE items SET list_id = ?, after_id = NULL WHERE id = ?", [.text(list), .text(item)])
  }

  private mutating func chain() throws {
    guard let item = try pick("items") else { return }
    try run(
      """
      UPDATE items SET after_id = (SELECT id FROM items AS other WHERE other.list_id = items.list_id
      AND other.id <> items.id ORDER BY id LIMIT 1) WHERE id = ?
      """, [.text(item)])
  }

  private mutating func group(in list: String) throws {
    let group = id()
    try run("INSERT INTO groups (id, list_id, title) VALUES (?, ?, ?)", [group, .text(list), newToken()])
    try run(
      "UPDATE items SET group_id = ? WHERE id = (SELECT min(id) FROM items WHERE list_id = ?)",
      [group, .text(list)])
  }

  private mutating func ungroup() throws {
    guard let item = try pick("items") else { return }
    try run("UPDATE items SET group_id = NULL WHERE id = ?", [.text(item)])
  }

  private mutating func share(_ list: String) throws {
    let role = chance.pick(["owner", "editor", "editor", "viewer"]) ?? "editor"
    if chance.one(in: 4), let group = try pick("lists"), group != list {
      return try run(
        "INSERT INTO members (id, zone, \"group\", role) VALUES (?, ?, ?, ?)",
        [id(), .text(list), .text(group), .text(role)])
    }
    try run(
      "INSERT INTO members (id, zone, name, role) VALUES (?, ?, ?, ?)",
      [id(), .text(list), .text("user\(chance.below(3))"), .text(role)])
  }

  private mutating func leave() throws {
    guard let member = try pick("members") else { return }
    if chance.one(in: 3) {
      try run("UPDATE members SET role = 'viewer' WHERE id = ?", [.text(member)])
    } else {
      try run("DELETE FROM members WHERE id = ?", [.text(member)])
    }
  }

  private mutating func link() throws {
    guard let item = try pick("items") else { return }
    try run("INSERT INTO links (id, text, item_id) VALUES (?, ?, ?)", [id(), newToken(), .text(item)])
  }

  /// A value from a small set, which other devices use too.
  private mutating func takeCode() throws {
    guard let item = try pick("items") else { return }
    try run("UPDATE items SET code = ? WHERE id = ?", [.text("code \(chance.below(4))"), .text(item)])
  }

  /// Deletes a record and creates it again with the same id, which is an update.
  private mutating func bringBack() throws {
    guard let note = try pick("notes") else { return }
    try run("DELETE FROM notes WHERE id = ?", [.text(note)])
    try run("INSERT INTO notes (id, \(noteText())) VALUES (?, ?)", [.text(note), newToken()])
  }

  /// Writes to the public zone, where only named writers may.
  private mutating func pretendCatalogue() throws {
    if chance.one(in: 3), let article = try pick("articles") {
      try run("UPDATE articles SET text = ? WHERE id = ?", [newToken(), .text(article)])
    } else {
      try run("INSERT INTO articles (id, text) VALUES (?, ?)", [id(), newToken()])
    }
  }

  // MARK: Parts

  mutating func pick(_ table: String) throws -> String? {
    let ids = try db.rows("SELECT id FROM \(identifier: table) ORDER BY id").rows
    return chance.pick(ids)?[0].text
  }

  private mutating func newToken() -> SQLiteValue { .text(newWord()) }

  private mutating func newWord() -> String {
    token += 1
    return Tokens.text(token)
  }

  private func id() -> SQLiteValue { .text(db.newID()) }

  func run(_ sql: String, _ values: [SQLiteValue]) throws { try db.execute(sql, values) }
}
