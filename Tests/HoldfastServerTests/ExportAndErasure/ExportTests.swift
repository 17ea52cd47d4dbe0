import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

@Suite("Taking all of one's data along")
struct ExportTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList("Wine, \"red\"")
  }

  /// All lines of an export, part by part, and how many parts there were.
  private func lines(_ device: TestDevice, _ target: String) throws -> (text: String, parts: Int) {
    var text: [UInt8] = []
    var parts = 0
    var next: String? = target
    while let target = next {
      let answer = try device.get(target)
      try #require(answer.status == 200)
      text += answer.response.body
      parts += 1
      let link = answer.header("Link")
      next = link.map { String($0.dropFirst().prefix { $0 != ">" }) }
      try #require(parts < 1000)
    }
    return (String(decoding: text, as: UTF8.self), parts)
  }

  private func records(_ text: String) throws -> [JSONValue] {
    try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
  }

  @Test("all that the user may read is there once, in parts of any size, and nothing of others (I10)")
  func jsonLines() throws {
    let bob = try server.signUp("bob")
    let secret = try bob.makeItem(try bob.makeList("bob's own"), "bob's secret")
    let shared = try bob.makeList("shared")
    let item = try bob.makeItem(shared, "for both")
    _ = try bob.share(shared, with: "alice", as: .viewer)
    let items = try (0..<30).map { try alice.makeItem(list, "item \($0)") }
    try alice.sync([.delete("items", items[0])])
    server.world.answerSize.withLock { $0 = 700 }
    try server.reopen()
    let (text, parts) = try lines(alice, "/v1/account/export")
    let all = try records(text)
    let account = try #require(all.first?["account"])
    #expect(account["name"] == "alice")
    #expect(account["devices"]?.elements?.count == 1)
    #expect(account["zones"]?.elements?.count == 3)
    let ids = all.dropFirst().compactMap { $0["id"]?.stringValue }
    #expect(TextSet(ids).count == ids.count)
    #expect(TextSet(items.dropFirst() + [list, shared, item]).isSubset(of: ids))
    #expect(!ids.contains(items[0]) && !ids.contains(secret))
    #expect(!text.contains("correct horse") && !text.contains(alice.token))
    #expect(parts > 5)
  }

  @Test("an export of many zones comes in parts, however little is in them (I11)")
  func manyZones() throws {
    let ids = (0..<300).map { _ in alice.newID() }
    #expect(try alice.sync(ids.map { .create("lists", $0, ["title": "x"]) }).refused.isEmpty)
    let (text, parts) = try lines(alice, "/v1/account/export")
    let all = try records(text).dropFirst().compactMap { $0["id"]?.stringValue }
    #expect(parts > 1 && TextSet(all).count == all.count && TextSet(ids).isSubset(of: all))
  }

  @Test("an export goes on in a zone whose name has dots, which only SQL gives it")
  func dots() throws {
    let server = try TestServer(engine: .postgres)
    let anna = try server.signUp("anna")
    try SQLWriter(server).run(
      """
      SET holdfast.account = '\(anna.user)'; INSERT INTO lists (id, title) VALUES ('.a..b', 'Dots');
      INSERT INTO items (id, list_id, title) SELECT 'item' || n, '.a..b', 'x' FROM generate_series(10, 39) n
      """)
    server.world.answerSize.withLock { $0 = 700 }
    try server.reopen()
    for target in ["/v1/account/export", "/v1/account/export/items"] {
      let (text, parts) = try lines(anna, target)
      #expect(parts > 1 && (10...39).allSatisfy { text.contains("item\($0)") })
    }
  }

  @Test("a table comes as CSV, whose quotes, commas and nulls can be told apart")
  func csv() throws {
    let (text, _) = try lines(alice, "/v1/account/export/lists")
    let rows = text.components(separatedBy: "\r\n")
    #expect(rows[0].hasPrefix("id,zone,rev,title"))
    #expect(rows[1].hasPrefix("\(list),\(list),1,\"Wine, \"\"red\"\"\""))
    #expect(rows.count == 3 && rows[2].isEmpty)
    let answer = try alice.get("/v1/account/export/lists")
    #expect(answer.header("Content-Type") == "text/csv")
    #expect(answer.header("Cache-Control") == "no-store")
  }

  @Test("what a spreadsheet would run as a formula is text to it, and can be told from what was text before")
  func formulas() throws {
    let titles = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "'=1", "''@", "'tis", "a=b"]
    for title in titles { _ = try alice.makeList(title) }
    let rows = try lines(alice, "/v1/account/export/lists").text
    for title in titles {
      let isEscaped = title != "'tis" && title != "a=b"
      let cell = (isEscaped ? "'" : "") + title
      #expect(rows.contains(title.contains("\r") ? ",\"\(cell)\"" : ",\(cell)"), "\(title)")
    }
    #expect(!rows.contains(",=") && !rows.contains("\"="))
  }

  @Test("who is not signed in, and what is asked for wrongly, is refused")
  func wrong() throws {
    #expect(
      try server.respond(to: TestServer.request("GET", "/v1/account/export", [], token: nil)).status == 401)
    #expect(try alice.get("/v1/account/export/nothing").status == 404)
    #expect(try alice.get("/v1/account/export?x=1").status == 400)
    for after in ["", "1", "x.lists.z", "-1.lists.z", "1.nothing.z", "99999999999999999999.lists.z"] {
      #expect(try alice.get("/v1/account/export?after=\(after)").status == 400)
    }
    // A place in a zone of others is one like every other: what is behind it and may be read comes.
    #expect(try alice.get("/v1/account/export?after=5.lists.zzz").response.body.isEmpty)
  }

  @Test("an operator takes the same out into files", arguments: [AccountFormat.jsonl, .csv])
  func operators(_ format: AccountFormat) throws {
    let item = try alice.makeItem(list)
    var files: TextMap<[UInt8]> = [:]
    let administration = try Administration(server.location)
    let count = try administration.export("alice", as: format) { files[$0, default: []] += $1 }
    // The list, the item, and two memberships: of the list and of the own zone.
    #expect(count == 4)
    let items = String(decoding: files[format == .csv ? "items.csv" : "account.jsonl"] ?? [], as: UTF8.self)
    #expect(items.contains(item))
    #expect(throws: ServerError.self) { try administration.export("nobody", as: format) { _, _ in } }
  }
}
