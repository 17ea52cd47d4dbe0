import Foundation
import Holdfast
import HoldfastHTTP
import HoldfastServer
import Synchronization
import Testing

/// A server in this process, as the transport of devices.
private final class InlineTransport: Transport, @unchecked Sendable {
  // Proof: only used under the lock.
  private let server: InlineServer
  private let lock = Mutex(100)

  /// How many requests more are answered.
  func answer(_ count: Int) { lock.withLock { $0 = count } }

  /// - Parameter answerSize: from which on an answer has no further change.
  init(_ folder: String, _ schema: SyncSchema, answerSize: Int = 4 << 20) throws {
    var environment = ServerEnvironment(
      now: { Int64(Date().timeIntervalSince1970 * 1000) },
      random: { count in (0..<count).map { _ in UInt8.random(in: .min ... .max) } },
      passwords: PasswordHashing(hash: { "hash of " + $0 }, verify: { "hash of " + $0 == $1 }, decoy: "none"))
    environment.limits.sessionsInHour = .max
    environment.answerSize = answerSize
    server = try InlineServer(.directory(folder), schema: schema, environment: environment)
  }

  func send(_ request: TransportRequest) async throws -> TransportAnswer {
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = request.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    let message = HTTPRequest(
      method: request.method, target: "/" + request.path, headers: headers, body: request.body ?? [])
    let response = try lock.withLock { count in
      count -= 1
      if count < 0 { throw StoreError(.offline, "The device asks without end.") }
      return server.respond(to: message)
    }
    return TransportAnswer(status: response.status, body: response.body)
  }
}

@Suite("A device in whose own tables something was scrambled")
struct ScrambledDeviceTests {
  private struct Shelf: Record {
    static let table = "lists"
    var id: String
    var title: String
  }

  /// In how many parts the columns are looked at, beside each other.
  private static let parts = 4
  /// One of so many pairs of a column and a value is tried in a run, others each time: each column and each value is.
  private static let share = 2
  private static let values = ["NULL", "-1", "9223372036854775807", "'x'", "x'ff00'", "'a' || char(0)"]

  /// A server and a device that has something in each of its own tables: an edit, a refused one, what another device has written meanwhile.
  private static func prepare(_ folder: URL, _ schema: SyncSchema) async throws -> String {
    let transport = try InlineTransport(folder.appendingPathComponent("server").path, schema, answerSize: 300)
    let phone = try Device("phone", in: folder, transport: transport, schema: schema)
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    let (list, item) = try await phone.store.write { db in
      let list = Shelf(id: db.newID(), title: "Home")
      try db.insert(list)
      let item = Row(
        id: db.newID(), list_id: list.id, title: "Milk", position: try db.position(after: nil, before: nil))
      try db.insert(item)
      return (list.id, item.id)
    }
    try await phone.engine.sync()
    let laptop = try Device("laptop", in: folder, transport: transport, schema: schema)
    try await laptop.engine.signIn(name: "ann", password: "correct-horse", device: "laptop")
    try await laptop.engine.sync()
    try await laptop.store.write { db in
      for number in 1...9 {
        let position = try db.position(after: nil, before: nil)
        try db.insert(Row(id: db.newID(), list_id: list, title: "Later \(number)", position: position))
      }
      try db.insert(Shelf(id: db.newID(), title: "Work"))
    }
    try await laptop.engine.sync()
    // The first pages of what is new.
    transport.answer(2)
    await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    try await phone.store.write { try $0.update(Row.self, id: item) { $0.title = "Mine" } }
    try SQLiteConnection(path: phone.path).execute(
      """
      INSERT INTO holdfast_recovery_claims VALUES ('\(list)'); INSERT INTO holdfast_awaiting_recovery VALUES ('\(list)', 1, 0);
      INSERT INTO holdfast_unapplied (first, body) VALUES (1, CAST('[]' AS BLOB));
      INSERT INTO holdfast_resets VALUES ('\(list)', 1, 1, 5);
      """)
    #expect(
      try await phone.store.read { try $0.rows("SELECT count(*) > 0 FROM holdfast_pages").rows } == [[1]])
    await laptop.store.close()
    let path = phone.path
    await phone.store.close()
    return path
  }

  @Test(
    "syncs on by itself: it has what the server has, and its unsent edit has arrived or waits (I3, I7, I12)",
    arguments: 0..<parts)
  func heals(part: Int) async throws {
    let schema = try Scene.schema()
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = try await Self.prepare(folder, schema)
    let columns = try SQLiteConnection(path: path).rows(
      """
      SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
      WHERE m.type = 'table' AND m.name LIKE 'holdfast%' ORDER BY 1, 2
      """
    ).map { ($0[0].text ?? "", $0[1].text ?? "") }
    var (found, runs) = ([String](), 0)
    let turn = Int.random(in: 0..<Self.share)
    for (number, (table, column)) in columns.enumerated() where number % Self.parts == part {
      for (place, value) in Self.values.enumerated() where (number / Self.parts + place) % Self.share == turn
      {
        let copy = folder.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: false)
        try FileManager.default.copyItem(atPath: path, toPath: copy.appendingPathComponent("phone.db").path)
        try FileManager.default.copyItem(
          at: folder.appendingPathComponent("server"), to: copy.appendingPathComponent("server"))
        let shell = try SQLiteConnection(path: copy.appendingPathComponent("phone.db").path)
        try? shell.execute(
          "PRAGMA ignore_check_constraints = ON; UPDATE OR IGNORE \(table) SET \(column) = \(value)")
        let changes = shell.totalChanges
        shell.close()
        defer { try? FileManager.default.removeItem(at: copy) }
        if changes == 0 { continue }
        runs += 1
        if let wrong = await Self.heal(copy, schema) {
          found.append("\(table).\(column) = \(value): \(wrong)")
        }
      }
    }
    #expect(found == [])
    #expect(runs > 200 / Self.parts / Self.share)
  }

  /// What is wrong after some syncs; nil for nothing.
  private static func heal(_ folder: URL, _ schema: SyncSchema) async -> String? {
    do {
      let transport = try InlineTransport(folder.appendingPathComponent("server").path, schema)
      let phone: Device
      do {
        phone = try Device("phone", in: folder, transport: transport, schema: schema)
      } catch { return "does not open: \(error)" }
      var last = ""
      for _ in 0..<12 {
        do {
          try await phone.engine.sync()
          last = ""
          break
        } catch let error as StoreError {
          last = "\(error)"
          if error.code == .signedOut {
            do {
              try await phone.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
            } catch { return "no sign-in: \(error)" }
          }
        }
      }
      if !last.isEmpty { return "no sync: \(last)" }
      let titles = try await phone.store.read {
        try $0.fetch(String.self, "SELECT title FROM items UNION ALL SELECT title FROM lists ORDER BY title")
      }
      let quarantined = try await phone.store.quarantined()
      await phone.store.close()
      let server = try SQLiteConnection(path: folder.appendingPathComponent("server/holdfast.db").path)
      let truth = try server.rows("SELECT title FROM items UNION ALL SELECT title FROM lists ORDER BY title")
        .compactMap { $0[0].text }
      server.close()
      if titles != truth { return "here \(titles), there \(truth), quarantined \(quarantined.count)" }
      if !truth.contains("Mine"), quarantined.isEmpty { return "the edit is lost: \(truth)" }
      return nil
    } catch { return "throws: \(error)" }
  }
}
