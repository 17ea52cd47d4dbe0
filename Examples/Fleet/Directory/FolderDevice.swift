import Foundation
import Holdfast
import Synchronization

/// One device: the real folder and its engine, and somebody who edits.
final class FolderDevice: Sendable {
  let name: String
  let user: String
  /// The name of the database that is its user's home.
  let home: String
  let path: String
  let folder: StoreFolder
  let engine: FolderEngine
  private let offline: Airplane

  /// Whether a device has no network.
  private final class Airplane: Sendable {
    private let mode = Mutex(false)
    var isOn: Bool {
      get { mode.withLock { $0 } }
      set { mode.withLock { $0 = newValue } }
    }
  }

  init(_ name: String, of user: String, home: Place, schema: SyncSchema, in folder: URL) throws {
    (self.name, self.user, self.home) = (name, user, home.name)
    path = folder.appendingPathComponent(name).path
    let (offline, server) = (Airplane(), home.server)
    self.offline = offline
    self.folder = try StoreFolder(path: path, schema: schema)
    engine = FolderEngine(folder: self.folder) { database in
      (database.name == "home" ? server : database.server).map {
        WatchedTransport(server: $0) { offline.isOn }
      }
    }
  }

  /// Its file of a database of the directory.
  func file(of place: String) -> String { "\(path)/\(place == home ? "home" : place).db" }

  /// How many operations the servers of a database have confirmed.
  func confirmed(in place: String) throws -> Int64 {
    guard FileManager.default.fileExists(atPath: file(of: place)) else { return 0 }
    let connection = try SQLiteConnection(path: file(of: place), access: .readOnly)
    // The file may be in the making.
    let tables = try connection.value("SELECT count(*) FROM sqlite_schema WHERE name = 'holdfast_local'")
    guard tables?.integer == 1 else { return 0 }
    return try connection.value("SELECT confirmed FROM holdfast_local")?.integer ?? 0
  }

  /// Looks for databases in which somebody has shared a list with the user, and accepts. Shares again where the directory did not answer.
  func accept() async {
    try? await engine.findDatabases()
    for set in (try? await folder.quarantined()) ?? [] where set.problem?.code == .userUnreachable {
      try? await folder.resend(set)
    }
    for database in folder.databases {
      guard let there = engine.engine(of: database.name) else { continue }
      for membership in (try? await there.pendingMemberships()) ?? [] {
        _ = try? await there.accept(membership: membership.id)
      }
    }
  }

  // MARK: Editing

  /// Makes a list in one of the databases, and shares it.
  func makeList(_ dice: UInt64, _ title: String, with others: [String], _ tokens: Tokens) async {
    let open = folder.databases.compactMap { folder.store(of: $0.name) }
    guard !open.isEmpty else { return }
    let made = try? await open[Int(dice % UInt64(open.count))].write { db in
      let list = db.newID()
      try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(list), .text(title)])
      for other in others {
        try db.execute(
          "INSERT INTO members (zone, name, role) VALUES (?, ?, 'editor')", [.text(list), .text(other)])
      }
      return list
    }
    if let made { tokens.note(.init(record: made, token: title), in: \.lists) }
  }

  /// Edits now and then, and is offline now and then, until the task is cancelled.
  func edit(seed: UInt64, pause: Double, people: [String], tokens: Tokens) async {
    var random = SeededRandom(seed: seed)
    var (number, offlineUntil) = (0, 0)
    while true {
      let wait = Double.random(in: 0...(2 * pause), using: &random)
      guard (try? await StoreEnvironment.system.sleep(.seconds(wait))) != nil else { break }
      number += 1
      let dice = [random.next(), random.next(), random.next(), random.next()]
      if offline.isOn, number >= offlineUntil {
        offline.isOn = false
        await engine.networkIsReachable()
      } else if !offline.isOn, dice[3] % 12 == 0 {
        offline.isOn = true
        offlineUntil = number + 2 + Int(dice[2] % 6)
      }
      if number % 8 == 0 { await accept() }
      if dice[1] % 100 < 3 {
        await makeList(
          dice[0], "\(name).\(number)",
          with: [people[Int(dice[2] % UInt64(people.count))]].filter { $0 != user }, tokens)
      } else {
        await edit(dice, "\(name).\(number)", tokens)
      }
    }
    offline.isOn = false
  }

  private func edit(_ dice: [UInt64], _ token: String, _ tokens: Tokens) async {
    do {
      let lists = try await folder.read {
        try $0.fetch(String.self, "SELECT DISTINCT id FROM lists ORDER BY id")
      }
      if lists.isEmpty { return }
      let list = lists[Int(dice[0] % UInt64(lists.count))]
      if dice[1] % 100 < 8 {
        let edit = try await folder.write(in: list) { try Self.rename(list, token, $0) }
        if let edit { tokens.note(edit, in: \.lists) }
      } else if let edit = try await folder.write(in: list, { try Self.edit($0, list, dice, token) }) {
        tokens.note(edit, in: \.items)
      }
    } catch {
      tokens.noteFailure()
    }
  }

  private static func rename(_ list: String, _ token: String, _ db: Database) throws -> Tokens.Edit? {
    guard let seen = try db.fetch(String.self, "SELECT title FROM lists WHERE id = ?", [.text(list)]).first
    else { return nil }
    try db.execute("UPDATE lists SET title = ? WHERE id = ?", [.text(token), .text(list)])
    return .init(record: list, token: token, seen: seen)
  }

  /// One random edit of an item. Each text is one that nobody else types, and each change of a text counts the item up by one.
  private static func edit(_ db: Database, _ list: String, _ dice: [UInt64], _ token: String) throws
    -> Tokens.Edit?
  {
    let items = try db.fetch(
      Item.self, "SELECT * FROM items WHERE list_id = ? ORDER BY position, id", [.text(list)])
    let kind = dice[1] % 100
    guard kind >= 45, !items.isEmpty else {
      let item = Item(
        id: db.newID(), list_id: list, title: token, position: try Device.place(dice[2], among: items, db))
      try db.insert(item)
      return .init(record: item.id, token: token)
    }
    let item = items[Int(dice[3] % UInt64(items.count))]
    switch kind {
    case ..<82:
      try db.execute(
        "UPDATE items SET title = ?, amount = amount + 1 WHERE id = ?", [.text(token), .text(item.id)])
      return .init(record: item.id, token: token, seen: item.title)
    case ..<91:
      let position = try Device.place(dice[2], among: items.filter { $0.id != item.id }, db)
      if position != item.position {
        try db.update(Item.self, id: item.id) { $0.position = position }
      }
      return nil
    default:
      try db.delete(Item.self, id: item.id)
      return .init(record: item.id)
    }
  }
}
