import HoldfastCore
import ServerScenes
import TemporaryPostgres
import Testing

@Suite("Columns of adopted tables that the database fills in")
struct FilledColumnTests {
  @Test("who created many records gets what was filled in, and so do others (I7)")
  func asSent() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      """
      CREATE TABLE lists (id text PRIMARY KEY, title text NOT NULL);
      CREATE TABLE items (id text PRIMARY KEY, list_id text NOT NULL REFERENCES lists ON DELETE CASCADE,
        title text NOT NULL, code text NOT NULL DEFAULT md5(random()::text));
      CREATE INDEX ON items (list_id)
      """)
    let server = try TestServer(adopting: url)
    let (phone, laptop) = (try server.signUp("ann"), try server.signIn("ann"))
    let list = phone.newID()
    try phone.sync([.create("lists", list, ["title": "Groceries"])])
    phone.takesAsSent = true
    let creates = (0..<70).map {
      Sent.create(
        "items", phone.newID(), ["list_id": .string(list), "title": .string("\($0)"), "code": .null])
    }
    let part = try #require(try phone.sync(creates).parts.first { $0.zone == list })
    #expect(part.asSent == [])
    try laptop.pull()
    let codes = phone.all("items").compactMap { $0["code"]?.stringValue }.sorted()
    #expect(codes.count == 70)
    #expect(codes == laptop.all("items").compactMap { $0["code"]?.stringValue }.sorted())
  }
}
