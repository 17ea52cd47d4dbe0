import HoldfastCore
import HoldfastSQLite
import Testing

@testable import Holdfast

/// Steps of a record, written down as the triggers write them.
private struct Script {
  var edits: [Edit] = []
  var record: RecordState?

  mutating func create(_ set: Int64, _ text: String) {
    add(set, .create, "", .null, 0)
    record = .init(zone: .text("z"), rev: 0, values: ["text": .text(text)])
  }

  mutating func update(_ set: Int64, _ text: String) {
    add(set, .update, "text", record?.values["text"] ?? .null, record?.rev ?? 0)
    record?.values["text"] = .text(text)
  }

  mutating func delete(_ set: Int64) {
    guard let record else { return }
    add(set, .delete, "", record.zone, record.rev)
    for (name, value) in record.values { add(set, .delete, name, value, record.rev) }
    self.record = nil
  }

  private mutating func add(
    _ set: Int64, _ kind: Edit.Kind, _ column: String, _ base: SQLiteValue, _ rev: Int64
  ) {
    let n = Int64(edits.count + 1)
    edits.append(Edit(n: n, changeSet: set, kind: kind, column: column, base: base, rev: rev, at: n))
  }

  /// The text after some sets were refused, all by one answer.
  func text(without sets: [Int64]) -> String? { refused(sets).record?.values["text"]?.text }

  func refused(_ sets: [Int64]) -> Script {
    var history = RecordHistory(edits, current: record)
    let beginning = history.base
    history.drop(sets)
    let (record, edits) = history.replayed(from: beginning)
    return Script(edits: edits, record: record)
  }
}

@Suite("The steps of a record")
struct RecordHistoryTests {
  private static let known = RecordState(zone: .text("z"), rev: 4, values: ["text": .text("server")])

  @Test("an update that is refused returns to the value before, unless a later one stands on it (I3)")
  func updates() {
    var script = Script(record: Self.known)
    script.update(1, "one")
    script.update(2, "two")
    #expect(script.text(without: [2]) == "one")
    #expect(script.text(without: [1]) == "two")
    #expect(script.text(without: [1, 2]) == "server")
    #expect(script.text(without: [2, 1]) == "server")
  }

  @Test(
    "a record that one set replaced is what it was when the set is refused, with what was edited since on top (I3)"
  )
  func replaced() {
    var script = Script(record: Self.known)
    script.delete(1)
    script.create(1, "again")
    #expect(script.text(without: [1]) == "server")
    script.update(2, "edited")
    #expect(script.text(without: [1]) == "edited")
    #expect(script.text(without: [1, 2]) == "server")
    script.delete(3)
    #expect(script.text(without: [1]) == nil)
    #expect(script.text(without: [1, 3]) == "edited")
    #expect(script.text(without: [3, 2, 1]) == "server")
  }

  @Test(
    "a create over the server's record has its rev, however often it is replayed, and leaves it when it is refused (I7)"
  )
  func covering() {
    var script = Script()
    script.create(1, "mine")
    for _ in 0..<2 {
      let (record, edits) = RecordHistory(script.edits, current: script.record).replayed(from: Self.known)
      #expect(record?.rev == 4)
      #expect(record?.values["text"]?.text == "mine")
      script = Script(edits: edits, record: record)
    }
    #expect(script.refused([1]).record == Self.known)
    #expect(script.refused([1]).edits.isEmpty)
  }

  @Test("a create that is refused takes its record along, and later lives stay (I3)")
  func lives() {
    var script = Script()
    script.create(1, "first")
    script.update(2, "edited")
    #expect(script.text(without: [1]) == nil)
    script.delete(3)
    script.create(3, "second")
    #expect(script.text(without: [1]) == "second")
    #expect(script.text(without: [1, 2]) == "second")
    #expect(script.text(without: [3]) == "edited")
    #expect(script.text(without: [1, 2, 3]) == nil)
  }

  @Test("a deletion that is refused after its create was refused puts nothing back (I8)")
  func deletedLife() {
    var script = Script()
    script.create(1, "first")
    script.delete(2)
    #expect(script.text(without: [1, 2]) == nil)
    #expect(script.text(without: [2, 1]) == nil)
    #expect(script.text(without: [2]) == "first")
  }

  @Test("the server's new value is what a dirty column returns to, and what the others show (I3)")
  func rebased() {
    var script = Script(record: Self.known)
    script.update(1, "mine")
    let now = RecordState(zone: .text("z"), rev: 5, values: ["text": .text("theirs"), "note": .text("n")])
    let (record, edits) = RecordHistory(script.edits, current: script.record).replayed(from: now)
    #expect(
      record == RecordState(zone: .text("z"), rev: 5, values: ["text": .text("mine"), "note": .text("n")]))
    #expect(edits.map(\.base) == [.text("theirs")])
    #expect(Script(edits: edits, record: record).text(without: [1]) == "theirs")
  }

  @Test("whether sets are refused by one answer or by one each, the same is left (I7)")
  func order() {
    var script = Script(record: Self.known)
    script.update(1, "one")
    script.delete(2)
    script.create(3, "three")
    script.update(4, "four")
    script.delete(5)
    script.create(5, "five")
    let all: [Int64] = [1, 2, 3, 4, 5]
    for mask in 0..<32 {
      let sets = all.filter { mask & 1 << ($0 - 1) != 0 }
      let oneByOne = sets.reduce(script) { $0.refused([$1]) }
      #expect(script.text(without: sets) == oneByOne.record?.values["text"]?.text, "\(sets)")
    }
    #expect(script.text(without: all) == "server")
  }
}
