// The examples of docs/GUIDE.md, in its order.
import Foundation
import Holdfast

// snippet.records
struct GroceryList: Record, Identifiable {
  static let table = "lists"
  var id: String
  var title: String
}

struct Item: Record, Identifiable {
  static let table = "items"
  var id: String
  var list_id: String
  var title: String
  var done = false
  var note: String? = nil
  var position = ""
}
// snippet.end

// snippet.open
func openStore() throws -> Store {
  guard let file = Bundle.main.url(forResource: "holdfast", withExtension: "json") else {
    throw CocoaError(.fileNoSuchFile)
  }
  let schema = try SyncSchema(json: Array(Data(contentsOf: file)))
  let folder = try FileManager.default.url(
    for: .applicationSupportDirectory, in: .userDomainMask, appropriateFor: nil, create: true)
  return try Store(path: folder.appending(path: "groceries.db").path, schema: schema)
}
// snippet.end

func write(_ store: Store) async throws {
  // snippet.write
  let list = try await store.write { db in
    let list = GroceryList(id: db.newID(), title: "Groceries")
    try db.insert(list)
    let items = ["Milk", "Bread"].map { Item(id: db.newID(), list_id: list.id, title: $0) }
    try db.insert(items, at: .last)
    return list
  }
  try await store.write { db in
    try db.update(GroceryList.self, id: list.id) { $0.title = "Things we need" }
    try db.execute("UPDATE items SET done = \(true) WHERE list_id = \(list.id)")
  }
  // snippet.end
}

func read(_ store: Store, list: GroceryList) async throws {
  // snippet.read
  let open = try await store.read { db in
    try db.fetch(Item.where(\.list_id == list.id && \.done == false).order(by: \.position))
  }
  let counts = try await store.read { db in
    try db.fetch(Int.self, "SELECT count(*) FROM items GROUP BY list_id HAVING max(done) < \(1)")
  }
  // snippet.end
  print(open, counts)
}

func watch(_ store: Store, list: GroceryList) async throws {
  // snippet.live
  for try await items in store.live(Item.where(\.list_id == list.id).order(by: \.position)) {
    print(items.map(\.title))
  }
  // snippet.end
}

func sync(_ store: Store, server: URL) async throws {
  // snippet.account
  let engine = SyncEngine(store: store, server: server, app: "groceries 1.0")
  if try await store.account() == nil {
    try await engine.signUp(name: "ann", password: "correct-horse", device: "Ann's phone")
  }
  Task { await engine.run() }
  // snippet.end
  // snippet.states
  for await status in engine.statuses {
    print(status.text)  // "Synced", "Offline: 3 changes wait", …
    if status.needsSignIn { print("Sign in to sync.") }
    if status.quarantined > 0 { print("The server refused something.") }
  }
  // snippet.end
}

func share(_ store: Store, _ engine: SyncEngine, list: GroceryList) async throws {
  // snippet.share
  let invitation = try await engine.invite(to: list.id, role: .editor)
  let link = "groceries://accept?token=\(invitation.token)"
  // snippet.end
  print(link)
  // snippet.member
  try await store.write { db in
    try db.insert(Member(id: db.newID(), zone: list.id, name: "bob", role: .editor))
  }
  for try await members in store.live(Member.where(\.zone == list.id)) {
    print(members.map { "\($0.name ?? "a group"): \($0.role)" })
  }
  // snippet.end
}

func accept(_ engine: SyncEngine, token: String) async throws {
  // snippet.accept
  let zone = try await engine.accept(invitation: token)
  for membership in try await engine.pendingMemberships() {
    print("\(membership.inviter.name) shares \(membership.title ?? "a list")")
    _ = try await engine.accept(membership: membership.id)
  }
  // snippet.end
  print(zone)
}

// snippet.counter
func countReview(of card: String, in store: Store) async throws {
  guard let account = try await store.account() else { return }
  try await store.write { db in
    let id = Identifier.derived(from: ["reviews", account.user, card])
    try db.increment("reviews", id: id, "count", orCreate: ["card_id": .text(card)])
  }
}
// snippet.end

func conflicts(_ store: Store) async throws {
  // snippet.conflicts
  for try await questions in store.liveConflicts(onlyOpen: true) {
    for question in questions {
      print("\(question.column): \(question.winner.value ?? .null) or \(question.loser.value ?? .null)?")
      try await store.write { try $0.resolve(question, taking: .loser) }
    }
  }
  // snippet.end
}

func quarantine(_ store: Store) async throws {
  // snippet.quarantine
  for refused in try await store.quarantined() {
    print(refused.reason)
    switch refused.problem?.code {
    case .uniqueTaken:
      try await store.resend(refused.number) { operations in
        for index in operations.indices where operations[index]["title"] != nil {
          operations[index]["title"] = "Another title"
        }
      }
    case .roleInsufficient: try await store.discard(refused.number)
    default: break  // show it to the user
    }
  }
  // snippet.end
}

func order(_ store: Store, list: GroceryList, first: Item, moved: [Item]) async throws {
  // snippet.order
  try await store.write { db in
    try db.insert([Item(id: db.newID(), list_id: list.id, title: "Butter")], at: .after(first.id))
    try db.move(Item.self, ids: moved.map(\.id), to: .first)
  }
  // snippet.end
}

func undo(_ store: Store, item: Item) async throws {
  // snippet.undo
  try await store.write { try $0.delete(Item.self, id: item.id) }
  let result = try await store.undo()
  print(result.undone.count, result.left.count)
  // snippet.end
}
