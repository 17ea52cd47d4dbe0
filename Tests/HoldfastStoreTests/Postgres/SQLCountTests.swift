import HoldfastCore
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What zones hold, as programs change it that write by SQL. Invariant I11.
@Suite struct SQLCountTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String
  private let sql: SQLWriter

  init() throws {
    server = try TestServer(engine: .postgres)
    alice = try server.signUp("alice")
    list = try alice.makeList("L")
    sql = try SQLWriter(server)
  }

  private func held(_ zone: String? = nil) throws -> ZoneCounts {
    let texts = try sql.texts(
      "SELECT unnest(ARRAY[records, bytes])::text FROM holdfast.zones WHERE zone = '\(zone ?? list)'")
    return ZoneCounts(records: Int64(texts[0]) ?? -1, bytes: Int64(texts[1]) ?? -1)
  }

  @Test("INSERT, UPDATE, moves, DELETE and TRUNCATE are counted set by set, and the doctor finds nothing")
  func counted() throws {
    let other = try alice.makeList("O")
    let (empty, second) = (try held(), try held(other))
    try sql.run(
      """
      INSERT INTO items (id, list_id, title) SELECT 'i' || n, '\(list)', 'Milk' FROM generate_series(1, 9) n
      """)
    #expect(try held() == ZoneCounts(records: empty.records + 9, bytes: empty.bytes + 9 * (2 + 36 + 4 + 8)))
    try sql.run("UPDATE items SET title = 'Oat milk \u{1F95B}', amount = 3")
    #expect(try held().bytes == empty.bytes + 9 * (2 + 36 + 13 + 8 + 8))
    try sql.run("UPDATE items SET list_id = '\(other)', amount = NULL WHERE id < 'i5'")
    #expect(try held() == ZoneCounts(records: empty.records + 5, bytes: empty.bytes + 5 * 67))
    #expect(try held(other) == ZoneCounts(records: second.records + 4, bytes: second.bytes + 4 * 59))
    #expect(try server.findings() == [])
    try sql.run(
      """
      BEGIN; UPDATE items SET title = '' WHERE id = 'i9'; DELETE FROM items WHERE id = 'i9';
      INSERT INTO items (id, list_id, title) VALUES ('i9', '\(list)', 'again'); COMMIT
      """)
    #expect(try held() == ZoneCounts(records: empty.records + 5, bytes: empty.bytes + 4 * 67 + 51))
    // A device goes on from there.
    try alice.pull()
    let rev = try #require(alice.records["items i9"]?.rev)
    try alice.sync([.update("items", "i9", ["title": "again and again"], rev: rev)])
    #expect(try held().bytes == empty.bytes + 4 * 67 + 61)
    try sql.run("DELETE FROM items WHERE id IN ('i8', 'i9')")
    #expect(try held() == ZoneCounts(records: empty.records + 3, bytes: empty.bytes + 3 * 67))
    #expect(try server.findings() == [])
    try sql.run("TRUNCATE items CASCADE")
    #expect(try held() == empty)
    #expect(try held(other) == second)
    #expect(try server.findings() == [])
  }

  @Test("the team's own SQL is counted and never refused; a device then finds the zone full (I12)")
  func free() throws {
    var limits = ZoneLimits()
    limits.records = try held().records + 1
    server.world.zoneLimits.withLock { $0 = limits }
    try server.reopen()
    try sql.run(
      "INSERT INTO items (id, list_id, title) SELECT 'i' || n, '\(list)', 'x' FROM generate_series(1, 3) n")
    try alice.pull()
    let refused = Sent.create("items", alice.newID(), ["list_id": .string(list), "title": "x"])
    #expect(try alice.refused(refused).code == .zoneFull)
    for id in ["i1", "i2", "i3"] { #expect(try alice.sync([.delete("items", id)]).refused.isEmpty) }
    let item = Sent.create("items", alice.newID(), ["list_id": .string(list), "title": "x"])
    #expect(try alice.sync([item]).refused.isEmpty)
    #expect(try server.findings() == [])
  }

  @Test("a ledger with wrong sizes is found and mended")
  func repaired() throws {
    _ = try alice.makeItem(list)
    let right = try held()
    try sql.run("UPDATE holdfast.records SET size = 5")
    #expect(try server.findings().contains { $0.hasPrefix("counts: the ledger") })
    _ = try DatabaseRepair(server.location).run()
    #expect(try held() == right)
    #expect(try server.findings() == [])
  }
}
