import Foundation
import Testing

@testable import Holdfast

@Suite("Lists on a device")
struct ListTests {
  struct Board: Record {
    static let table = "boards"
    var id: String
    var title = "x"
  }

  struct Card: Record {
    static let table = "cards"
    var id: String
    var board_id: String
    var group_id: String?
    var position: String = ""
  }

  struct Mark: Record {
    static let table = "marks"
    var id: String
    var position: String?
  }

  private let device: Fixture
  private let boards: [String]
  private let ids: [String]

  init() async throws {
    let reference = Reference(to: "boards", onDelete: .cascade)
    let device = try Fixture(
      schema: SyncSchema(
        name: "test",
        tables: [
          TableSchema("boards", zone: .root, columns: [ColumnSchema("title", .text, required: true)]),
          TableSchema(
            "cards", zone: .parent("board_id"),
            columns: [
              ColumnSchema("board_id", .reference, required: true, reference: reference),
              ColumnSchema("group_id", .reference, reference: Reference(to: "boards", across: true)),
              ColumnSchema("position", .position, required: true),
            ]),
          TableSchema("marks", zone: .user, columns: [ColumnSchema("position", .position)]),
        ]))
    self.device = device
    (boards, ids) = try await device.store.write { db in
      let boards = [Board(id: db.newID()), Board(id: db.newID())]
      for board in boards { try db.insert(board) }
      let cards = (0..<5).map { _ in Card(id: db.newID(), board_id: boards[0].id) }
      try db.insert(cards, at: .last)
      return (boards.map(\.id), cards.map(\.id))
    }
  }

  private func order(_ board: Int = 0) async throws -> [String] {
    let board = boards[board]
    return try await device.store.read {
      try $0.fetch(
        String.self, "SELECT id FROM cards WHERE board_id = ? ORDER BY position, id", [.text(board)])
    }
  }

  private func move(_ ids: [String], to place: Place, in parent: String? = nil) async throws {
    try await device.store.write { try $0.move(Card.self, ids: ids, to: place, in: parent) }
  }

  private func fails(_ code: StoreError.Code, _ ids: [String], _ place: Place, in parent: String? = nil) async
  {
    let error = await #expect(throws: StoreError.self) { try await move(ids, to: place, in: parent) }
    #expect(error?.code == code)
  }

  @Test("records are inserted in a row at a place, each as one create (I6, I7)")
  func insert() async throws {
    let (board, anchor) = (boards[0], ids[2])
    let new = try await device.store.write { db in
      let cards = (0..<3).map { _ in Card(id: db.newID(), board_id: board) }
      try db.insert(cards, at: .after(anchor))
      return cards.map(\.id)
    }
    #expect(try await order() == ids[...2] + new + ids[3...])
    let sets = try await device.outbox()
    #expect(sets.last?.elements?.count == 3 || sets.last?["operations"]?.elements?.count == 3)
  }

  @Test("a block moves together, in the order in which it is named, first, last, before and after")
  func blocks() async throws {
    try await move([ids[3], ids[1]], to: .first)
    #expect(try await order() == [ids[3], ids[1], ids[0], ids[2], ids[4]])
    try await move([ids[3], ids[1]], to: .last)
    #expect(try await order() == [ids[0], ids[2], ids[4], ids[3], ids[1]])
    try await move([ids[1], ids[0]], to: .before(ids[4]))
    #expect(try await order() == [ids[2], ids[1], ids[0], ids[4], ids[3]])
    try await move([ids[2]], to: .after(ids[4]))
    #expect(try await order() == [ids[1], ids[0], ids[4], ids[2], ids[3]])
    try await move([ids[0]], to: .after(ids[1]))
    #expect(try await order() == [ids[1], ids[0], ids[4], ids[2], ids[3]])
    try await move([], to: .first)
  }

  @Test("a block goes to another list, and its references with it")
  func acrossLists() async throws {
    try await move([ids[0], ids[2]], to: .last, in: boards[1])
    try await move([ids[4]], to: .before(ids[2]), in: boards[1])
    #expect(try await order() == [ids[1], ids[3]])
    #expect(try await order(1) == [ids[0], ids[4], ids[2]])
    let board = boards[0]
    try await move([ids[4], ids[1]], to: .first, in: board)
    #expect(try await order() == [ids[4], ids[1], ids[3]])
    await fails(.notInList, [ids[0], ids[1]], .first)
  }

  @Test("a place beside what is moved itself, is elsewhere or is not here is refused, and nothing changes")
  func refused() async throws {
    await fails(.notInList, [ids[0], ids[1]], .after(ids[1]))
    await fails(.notInList, [ids[0]], .before(ids[1]), in: boards[1])
    await fails(.notInList, [ids[0], ids[0]], .last)
    await fails(.recordMissing, [ids[0]], .after("nobody"))
    await fails(.recordMissing, [ids[0], "nobody"], .first)
    await fails(.recordMissing, [ids[0]], .first, in: "nobody")
    #expect(try await order() == ids)
    let error = await #expect(throws: StoreError.self) {
      try await device.store.write { try $0.move(Board.self, ids: [boards[0]], to: .first) }
    }
    #expect(error?.code == .valueUnfit)
  }

  @Test("what only positions change is the only edit of a move")
  func edits() async throws {
    try await move([ids[1]], to: .first)
    let text = String(decoding: try #require(try await device.outbox().last).bytes, as: UTF8.self)
    #expect(text.contains("position") && !text.contains("board_id"))
    #expect(text.matches(of: /"op":"update"/).count == 1)
  }

  @Test("beside one of several records with the same position is beside all of them")
  func ties() async throws {
    try await device.store.write { [ids] db in
      let position = try #require(try db.find(Card.self, id: ids[1])).position
      for id in ids[2...3] { try db.update(Card.self, id: id) { $0.position = position } }
    }
    try await move([ids[0]], to: .after(ids[1]))
    let tied = ids[1...3].sorted()
    #expect(try await order() == tied + [ids[0], ids[4]])
    try await move([ids[4]], to: .before(ids[3]))
    #expect(try await order() == [ids[4]] + tied + [ids[0]])
  }

  @Test("renewing a list keeps its order, and makes its positions short")
  func renew() async throws {
    for turn in 0..<60 { try await move([ids[turn % 2]], to: .after(ids[2 + turn % 3])) }
    let before = try await order()
    let board = boards[0]
    try await device.store.write { try $0.renew(Card.self, in: board) }
    #expect(try await order() == before)
    #expect(try await device.value("SELECT max(length(position)) FROM cards")?.integer ?? 99 <= 12)
  }

  @Test("a list may be a whole zone, before anybody has signed in, too")
  func wholeZone() async throws {
    let marks = try await device.store.write { db in
      let marks = (0..<3).map { _ in Mark(id: db.newID()) }
      try db.insert(marks, at: .last)
      try db.insert(Mark(id: db.newID()))
      try db.move(Mark.self, ids: [marks[2].id], to: .first)
      try db.renew(Mark.self, in: nil)
      return marks.map(\.id)
    }
    let order = try await device.store.read {
      try $0.fetch(String.self, "SELECT id FROM marks WHERE position IS NOT NULL ORDER BY position, id")
    }
    #expect(order == [marks[2], marks[0], marks[1]])
    let error = await #expect(throws: StoreError.self) {
      try await device.store.write { try $0.move(Mark.self, ids: [marks[0]], to: .first, in: boards[0]) }
    }
    #expect(error?.code == .notInList)
  }
}
