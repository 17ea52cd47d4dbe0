import Foundation
import Holdfast

/// An item of a list.
struct Item: Record {
  static let table = "items"
  var id: String
  var list_id: String
  var title: String
  var done = false
  var note: String?
  var position: String
}

/// One device: the real store and engine, and somebody who edits.
final class Device: Sendable {
  let name: String
  let user: String
  let path: String
  let store: Store
  let engine: SyncEngine
  let transport: WatchedTransport

  init(_ name: String, of user: String, schema: SyncSchema, in folder: URL, server: URL) throws {
    self.name = name
    self.user = user
    path = folder.appendingPathComponent("\(name).db").path
    store = try Store(path: path, schema: schema)
    transport = WatchedTransport(server: server)
    engine = SyncEngine(store: store, transport: transport)
  }

  /// What it shows the server.
  func token() throws -> String {
    let token = try SQLiteConnection(path: path, access: .readOnly).value("SELECT token FROM holdfast_local")
    return token?.text ?? ""
  }

  /// Edits now and then until the task is cancelled.
  func edit(seed: UInt64, pause: Double, journal: Journal) async {
    var random = SeededRandom(seed: seed)
    var number = 0
    while true {
      let wait = Double.random(in: 0...(2 * pause), using: &random)
      guard (try? await StoreEnvironment.system.sleep(.seconds(wait))) != nil else { return }
      number += 1
      let dice = [random.next(), random.next(), random.next(), random.next()]
      let token = "\(name).\(number)"
      if let edit = try? await store.write({ try Self.edit($0, dice, token) }) { journal.note(edit) }
    }
  }

  /// One random edit; every value that it gives is one that nobody else gives.
  private static func edit(_ db: Database, _ dice: [UInt64], _ token: String) throws -> Journal.Edit? {
    let lists = try db.fetch(String.self, "SELECT id FROM lists ORDER BY id")
    if lists.isEmpty { return nil }
    let list = lists[Int(dice[0] % UInt64(lists.count))]
    let items = try db.fetch(
      Item.self, "SELECT * FROM items WHERE list_id = ? ORDER BY position, id", [.text(list)])
    let kind = dice[1] % 100
    guard kind >= 45, !items.isEmpty else {
      let item = Item(
        id: db.newID(), list_id: list, title: token, position: try place(dice[2], among: items, db))
      try db.insert(item)
      return .created(item.id)
    }
    let id = items[Int(dice[3] % UInt64(items.count))].id
    switch kind {
    case ..<60: try db.update(Item.self, id: id) { $0.title = token }
    case ..<75: try db.update(Item.self, id: id) { $0.note = token }
    case ..<90:
      let others = items.filter { $0.id != id }
      let position = try place(dice[2], among: others, db)
      if items.contains(where: { $0.id == id && $0.position == position }) { return nil }
      try db.update(Item.self, id: id) { $0.position = position }
    default:
      try db.delete(Item.self, id: id)
      return .deleted(id)
    }
    return .updated(id)
  }

  static func place(_ dice: UInt64, among items: [Item], _ db: Database) throws -> String {
    let index = Int(dice % UInt64(items.count + 1))
    return try db.position(
      after: index > 0 ? items[index - 1].position : nil,
      before: index < items.count ? items[index].position : nil)
  }
}

/// SplitMix64, so that a seed decides everything. Source: Steele, Lea and Flood, 2014.
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}
