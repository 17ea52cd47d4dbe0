import Foundation
import HoldfastCore
import HoldfastServer
import ServerScenes
import Testing

@Suite("Ranks")
struct RankTests {
  private let world: ListServer
  private let board: String
  private let group: String

  init() throws {
    world = try ListServer()
    board = try world.board()
    group = try world.group(board)
  }

  private func ranks(_ records: [JSONValue]) -> TextMap<Int64?> {
    TextMap(records.map { ($0["id"]?.stringValue ?? "", $0["rank"]?.integerValue) })
  }

  @Test("each record of an index has its dense place in its list from 1, by position and id")
  func index() throws {
    let first = try (0..<5).map { _ in try world.card(board, group, ["at": "last"]) }
    let other = try world.group(board)
    let second = try (0..<3).map { _ in try world.card(board, other, ["at": "first"]) }
    try world.rest.send("DELETE", "/v1/tables/cards/\(first[1])")
    let answer = try world.alice.get("/v1/tables/cards?rank=position")
    #expect(answer.status == 200)
    #expect(
      ranks(answer.records) == [
        first[0]: 1, first[2]: 2, first[3]: 3, first[4]: 4, second[2]: 1, second[1]: 2, second[0]: 3,
      ])
    let filtered = try world.alice.get(
      "/v1/tables/cards?where.group_id=\(group)&order=-position&limit=1&rank=position&columns=title")
    #expect(ranks(filtered.records) == [first[4]: 4])
    #expect(filtered.records[0]["columns"] == ["title": .null])
  }

  @Test("a rank is asked for by the column's name, or a former one")
  func renamed() throws {
    let marks = try (0..<2).map { _ in try world.rest.create("marks", ["position": ["at": "last"]]) }
    let before = #""columns": {"position": {"type": "position"}, "title""#
    #expect(ListServer.schema.contains(before))
    let schema = ListServer.schema.replacingOccurrences(
      of: before, with: #""columns": {"place": {"type": "position", "was": ["position"]}, "title""#)
    try world.server.reopen(SyncSchema(json: Array(schema.utf8)))
    for name in ["place", "position"] {
      let answer = try world.alice.get("/v1/tables/marks?rank=\(name)")
      #expect(ranks(answer.records) == [marks[0]: 1, marks[1]: 2], "\(name)")
      #expect(try world.alice.get("/v1/tables/marks/\(marks[1])?rank=\(name)").body["rank"] == 2, "\(name)")
    }
    #expect(try world.alice.get("/v1/tables/marks?rank=title").status == 400)
  }

  @Test("records with the same position have different ranks; those without one have null")
  func ties() throws {
    let same = Position.between(nil, nil, replica: Position.Replica(random: 7), nonce: 0).string
    let tied = try (0..<3).map { _ in try world.card(board, group, .string(same)) }.sorted()
    #expect(
      ranks(try world.alice.get("/v1/tables/cards?rank=position").records) == [
        tied[0]: 1, tied[1]: 2, tied[2]: 3,
      ])
    let mark = try world.rest.create("marks", ["position": ["at": "first"]])
    let none = try world.rest.create("marks", ["title": "of no list"])
    let answer = try world.alice.get("/v1/tables/marks?rank=position")
    #expect(ranks(answer.records) == [mark: 1, none: nil])
    #expect(answer.records.allSatisfy { $0["rank"] != nil })
  }

  @Test("later pages have the ranks of now, and a page ends at its 64th list")
  func pages() throws {
    var groups: [String] = []
    for _ in 0..<70 {
      let group = try world.group(board)
      groups.append(group)
      _ = try world.card(board, group, ["at": "last"])
    }
    let page = try world.alice.get("/v1/tables/cards?order=id&rank=position")
    #expect(page.records.count == 64)
    let next = try #require(page.next)
    for group in groups { _ = try world.card(board, group, ["at": "first"]) }
    let rest = try world.alice.get(next)
    #expect(rest.records.count == 6)
    #expect(rest.records.allSatisfy { $0["rank"] == 2 })
  }

  @Test("one record has its rank, and an ETag that changes with it")
  func record() throws {
    let id = try world.card(board, group, ["at": "last"])
    let target = "/v1/tables/cards/\(id)?rank=position"
    let answer = try world.alice.get(target)
    #expect(answer.body["rank"] == 1)
    #expect(try world.alice.get(target, [("If-None-Match", answer.tag)]).status == 304)
    _ = try world.card(board, group, ["at": "first"])
    let later = try world.alice.get(target, [("If-None-Match", answer.tag)])
    #expect(later.status == 200)
    #expect(later.body["rank"] == 2)
    #expect(later.body["rev"] == 1)
    #expect(try world.alice.get("/v1/tables/cards/\(id)").body["rank"] == nil)
  }

  @Test("an index with ranks is never answered by a delta")
  func deltas() throws {
    _ = try world.card(board, group, ["at": "last"])
    let first = try world.alice.get("/v1/tables/cards?rank=position")
    _ = try world.card(board, group, ["at": "first"])
    let answer = try world.alice.get(
      "/v1/tables/cards?rank=position", [("A-IM", "feed"), ("If-None-Match", first.tag)])
    #expect(answer.status == 200)
    #expect(answer.records.count == 2)
  }

  @Test("a rank of what is no position is a bad request")
  func wrong() throws {
    let id = try world.card(board, group, ["at": "last"])
    for target in ["cards?rank=title", "cards?rank=nothing", "cards?rank=", "cards/\(id)?rank=title"] {
      let answer = try world.alice.get("/v1/tables/\(target)")
      #expect(answer.status == 400)
      #expect(answer.code == "invalid-request")
    }
    #expect(try world.alice.get("/v1/tables/cards/\(id)?what=1").status == 400)
  }
}
