import HoldfastCore
import Testing

@testable import HoldfastServer

/// Databases that earlier releases left. Invariants I3 and I10.
@Suite struct FormatTests {
  @Test(
    "a database of any format before gets the steps that it has not had, and keeps what it had (I3, I10)",
    arguments: TestServer.formerFormats)
  func migrated(from format: Int64) throws {
    let server = try TestServer()
    let (alice, bob) = (try server.signUp("alice"), try server.signUp("bob"))
    let list = try alice.makeList("Plan")
    let item = try alice.makeItem(list)
    _ = try alice.share(list, with: "bob")
    try server.goBack(to: format)
    for _ in 0..<2 { try server.reopen() }
    try bob.pull()
    #expect(bob.column("items", item, "title") == "Milk")
    #expect(try bob.sync([.update("items", item, ["title": "Oat milk"])]).refused.isEmpty)
    try alice.pull()
    #expect(alice.column("items", item, "title") == "Oat milk")
    #expect(try server.findings().isEmpty)
  }

  @Test("the formats before this one are all of them")
  func complete() {
    #expect(TestServer.formerFormats.reversed() == Array(1..<SQLiteTables.formatVersion))
    #expect(SQLiteTables.formatVersion == PostgresMigrations.newest)
    #expect(PostgresMigrations.all.map(\.number) == PostgresMigrations.distributed.map(\.number))
  }
}
