import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// Rows of `holdfast.zones` that are lost or older than the ledger: I3, I4, I8.
@Suite struct ZoneFenceTests {
  @Test(
    "a repaired row of a zone opens no token from before deletions that were purged (I4, I8)",
    arguments: [
      "DELETE FROM holdfast.zones WHERE zone = 'LIST'",
      "UPDATE holdfast.zones SET seq = 3, purged = 0 WHERE zone = 'LIST'",
    ])
  func fenced(damage: String) throws {
    let server = try TestServer(engine: .postgres)
    let sql = try SQLWriter(server)
    let (alice, stale) = (try server.signUp("alice"), try server.signIn("alice"))
    let list = try alice.makeList()
    let (gone, kept, later) = (
      try alice.makeItem(list, "gone"), try alice.makeItem(list, "kept"), try alice.makeItem(list, "later")
    )
    try stale.pull()
    #expect(stale.has("items", gone))
    _ = try alice.sync([.delete("items", gone)])
    _ = try alice.sync([.update("items", kept, ["title": "edited"])])
    _ = try alice.sync([.delete("items", later)])
    try alice.pull()
    // What a purge does, which also drops the zone's last change.
    try sql.run(
      """
      UPDATE holdfast.zones SET purged = seq WHERE zone = '\(list)';
      DELETE FROM holdfast.records WHERE zone = '\(list)' AND state > 0
      """)
    try sql.run(damage.replacing("LIST", with: list))
    #expect(try server.findings() != [])
    _ = try DatabaseRepair(server.location, environment: server.world.environment).run()
    #expect(try server.findings() == [])
    // As many changes as the zone has forgotten: a seq of before names others now.
    for number in 0..<3 { _ = try alice.makeItem(list, "new \(number)") }
    for device in [stale, alice] {
      try device.pull()
      #expect(!device.has("items", gone) && !device.has("items", later))
      #expect(device.column("items", kept, "title") == "edited")
      #expect(device.all("items").count == 4)
    }
    #expect(try server.findings() == [])
  }

  @Test("a lost row of a public zone is made again by the start, and fences what devices have of it (I4)")
  func publicZone() throws {
    let server = try TestServer(engine: .postgres)
    let sql = try SQLWriter(server)
    try sql.run("INSERT INTO products (id, name) VALUES ('w1', 'one'); DELETE FROM products")
    try sql.run(
      """
      DELETE FROM holdfast.records WHERE zone = 'catalogue'; DELETE FROM holdfast.zones WHERE zone = 'catalogue'
      """)
    try server.reopen()
    #expect(
      try sql.texts(
        "SELECT (public AND seq >= 1000000 AND purged = seq)::text FROM holdfast.zones WHERE zone = 'catalogue'"
      ) == ["true"])
    try sql.run("INSERT INTO products (id, name) VALUES ('w2', 'two')")
    #expect(try server.findings() == [])
  }

  @Test("a record that was changed behind the triggers is fed in a zone whose row was lost (I4)")
  func settled() throws {
    let server = try TestServer(engine: .postgres)
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let item = try alice.makeItem(list, "before")
    try SQLWriter(server).run(
      """
      SET holdfast.service = 'on'; UPDATE items SET title = 'after' WHERE id = '\(item)';
      DELETE FROM holdfast.zones WHERE zone = '\(list)'
      """)
    _ = try DatabaseRepair(server.location, environment: server.world.environment).run()
    #expect(try server.findings() == [])
    try alice.pull()
    #expect(alice.column("items", item, "title") == "after")
  }
}
