import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

/// How many values a query combines. Invariant I12.
@Suite struct CombinationTests {
  static let text = """
    {"holdfast": 1, "name": "numbers", "tables": {
      "lists": {"zone": "root", "indexes": [["a", "b"]], "columns": {
        "title": {"type": "text"}, "a": {"type": "integer"}, "b": {"type": "integer"}}}
    }}
    """

  @Test("the values of several \"in\" have at most 2,000 combinations (I12)")
  func combinations() throws {
    let server = try TestServer(SyncSchema(json: Array(Self.text.utf8)))
    let rest = RestClient(try server.signUp("alice"))
    let id = try rest.create("lists", ["title": "One", "a": 3, "b": 4])
    func values(_ count: Int) -> String { (0..<count).map(String.init).joined(separator: ",") }
    let most = try rest.get("/v1/tables/lists?where.a.in=\(values(50))&where.b.in=\(values(40))")
    #expect(most.status == 200)
    #expect(most.json["records"]?.elements?.compactMap { $0["id"]?.stringValue } == [id])
    let more = try rest.get("/v1/tables/lists?where.a.in=\(values(50))&where.b.in=\(values(41))")
    #expect(more.status == 422 && more.code == "invalid-value")
  }
}
