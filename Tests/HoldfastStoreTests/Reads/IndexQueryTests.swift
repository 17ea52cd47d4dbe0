import HoldfastCore
import HoldfastHTTP
import Testing

@testable import HoldfastServer

@Suite("What a query of an index means")
struct IndexQueryTests {
  private let schema: SyncSchema

  init() throws {
    schema = try SyncSchema(json: Array(IndexSchema.text.utf8))
  }

  private func query(_ text: String, of table: String = "things") throws -> RecordQuery {
    let index = try #require(schema.index(of: table))
    let parameters = try QueryParameters(HTTPRequest(target: "/v1/tables/\(table)?\(text)"))
    return try RecordQuery(parameters, of: index, in: schema)
  }

  private func problem(_ text: String) -> Problem? {
    do {
      _ = try query(text)
      return nil
    } catch { return error as? Problem }
  }

  @Test("without parameters it is the whole collection, 100 on a page")
  func whole() throws {
    let query = try query("")
    #expect(query.isWhole)
    #expect(query.limit == 100)
    #expect(query.index == nil)
    #expect(try self.query("zone=z&columns=word").isWhole)
    #expect(try !self.query("limit=5").isWhole)
  }

  @Test("an index answers the columns that begin it: values in any order, then one comparison")
  func planning() throws {
    #expect(try query("where.flag=true&where.amount=3").index?.kind == .declared(0))
    #expect(try query("where.amount=3&where.flag.in=true,false").index?.kind == .declared(0))
    #expect(try query("where.flag=true&where.amount.gte=1&where.amount.lt=9").index?.kind == .declared(0))
    #expect(try query("where.flag.null=true").index?.kind == .declared(0))
    #expect(try query("where.flag.null=false").index?.kind == .declared(0))
    #expect(try query("where.amount=3").index?.kind == .declared(2))
    #expect(try query("where.list_id=x").index == TableIndex(kind: .reference(0), columns: ["list_id"]))
    #expect(try query("where.code=x").index?.kind == .unique(0))
    #expect(try query("where.word.prefix=x").index?.kind == .declared(1))
  }

  @Test("a filter that no index answers is refused, with the index that is lacking")
  func missing() {
    #expect(problem("where.score=1")?.code == .indexMissing)
    #expect(problem("where.score=1")?.detail == #"things lacks "indexes": [["score"]]."#)
    #expect(
      problem("where.score.gt=1&where.word=a&where.flag=true")?.detail
        == #"things lacks "indexes": [["flag", "word", "score"]]."#)
    #expect(problem("where.flag.gt=false&where.amount=2")?.code == .indexMissing)
    #expect(problem("where.flag.gt=false&where.amount.gt=2")?.detail.contains("flag, amount") == true)
  }

  @Test("values are read by the column's type")
  func values() throws {
    #expect(try query("where.amount=-7").filters == [RecordFilter(column: 2, test: .equal(.integer(-7)))])
    #expect(
      try query("where.word.in=a%2Cb,c").filters
        == [RecordFilter(column: 4, test: .among([.text("a,b"), .text("c")]))])
    #expect(try query("where.word=a+b%2B").filters == [RecordFilter(column: 4, test: .equal(.text("a b+")))])
    for bad in [
      "amount=1.5", "amount=%2B1", "amount=", "amount=9223372036854775808", "flag=1", "at=2026-11-21",
      "at=2026-02-30T10:00:00.000Z", "word=%00", "list_id=", "amount.in=1,,2", "word.null=yes",
      "amount.prefix=1", "extra=1", "extra.null=true", "score=nan", "score=1e999", "score=0x10",
    ] {
      #expect(problem("where.\(bad)")?.code == .invalidValue, "\(bad)")
    }
    let many = (0...RecordFilter.valueLimit).map(String.init).joined(separator: ",")
    #expect(problem("where.amount.in=\(many)")?.code == .invalidValue)
  }

  @Test("what is not known is refused and named")
  func unknown() {
    #expect(problem("where.nothing=1")?.code == .unknownColumn)
    #expect(problem("order=nothing")?.code == .unknownColumn)
    #expect(problem("columns=nothing")?.code == .unknownColumn)
    #expect(problem("columns=")?.code == .unknownColumn)
    #expect(problem("order=extra")?.code == .invalidValue)
    for bad in [
      "since=1", "where.word.like=a", "where.=a", "where.word.=a", "limit=0", "limit=1001", "limit=-1",
      "limit=99999999999999999999999", "limit=1e2", "limit=", "count=1", "limit=1&limit=2",
      "order=word,-word",
      "columns=word,word", "%zz=1", "where.word=%C3%28", "where.word=%4", "where.word.gt.lt=1",
    ] {
      let code = problem(bad)?.code
      #expect(code == .invalidRequest || code == .unknownColumn, "\(bad)")
    }
    #expect(problem("where.word=%C3%28")?.code == .invalidRequest)
  }

  @Test("a thousand parameters are refused like one")
  func many() {
    let text = (0..<1000).map { "p\($0)=1" }.joined(separator: "&")
    #expect(problem(text)?.code == .invalidRequest)
  }

  @Test("the text after a prefix is the least that is greater than all that begin with it")
  func successor() {
    #expect(RecordFilter.successor("ab") == "ac")
    #expect(RecordFilter.successor("a\u{10FFFF}") == "b")
    #expect(RecordFilter.successor("\u{D7FF}") == "\u{E000}")
    #expect(RecordFilter.successor("\u{10FFFF}\u{10FFFF}") == nil)
    #expect(RecordFilter.successor("") == nil)
  }
}

/// A table with a column of each type, and indexes.
enum IndexSchema {
  static let text = """
    {"holdfast": 1, "name": "index", "tables": {
      "lists": {"zone": "root", "columns": {"title": {"type": "text", "required": true}}},
      "things": {"zone": {"parent": "list_id"}, "unique": [["code"]],
        "indexes": [["flag", "amount"], ["word"], ["amount"], ["ratio"], ["at"], ["place"], ["flag", "word"]],
        "columns": {
          "list_id": {"type": "reference", "to": "lists", "required": true, "on_delete": "cascade"},
          "flag": {"type": "boolean"}, "amount": {"type": "integer"}, "ratio": {"type": "real"},
          "word": {"type": "text"}, "at": {"type": "timestamp"}, "place": {"type": "position"},
          "code": {"type": "text"}, "extra": {"type": "json"}, "score": {"type": "real"},
          "friend_id": {"type": "reference", "to": "lists", "on_delete": "set_null", "across": true}}},
      "notes": {"zone": "user", "columns": {"text": {"type": "text", "required": true}}},
      "products": {"zone": {"public": "catalogue"}, "columns": {"name": {"type": "text", "required": true}}}
    }}
    """

  static func schema() throws -> SyncSchema { try SyncSchema(json: Array(text.utf8)) }
}
