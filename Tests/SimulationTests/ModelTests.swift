import HoldfastCore
import Testing

@testable import HoldfastSimulation

/// Each demand of the model: a small history that passes, and the smallest change of it that is caught.
@Suite("The model")
struct ModelTests {
  private static let other = RecordKey(table: "items", id: "other")

  @Test("an honest history passes (I1..I12)")
  func honest() {
    let history = History()
    history.share(accepted: true)
    history.sync("b")
    history.title("b", "~2~")
    history.write("b") { $0[Self.other] = History.item("~3~") }
    history.sync("b")
    history.sync("a2")
    history.write("a2") { $0[History.item] = nil }
    history.sync("a2")
    history.write("a2") { $0[History.item] = History.item("~4~") }
    history.sync("a2")
    #expect(history.end(["a1", "a2", "b"]).isEmpty)
  }

  // MARK: I1, I8

  @Test("a record that nobody created, and a value that stands elsewhere, are caught (I1)")
  func doubled() {
    let history = History()
    history.put(Self.other, History.item("~1~"))
    #expect(history.end() == ["I1", "I1"])
    let stray = History()
    stray.serverTitle("~100~")
    #expect(stray.end().contains("I1"))
  }

  @Test("a value that nobody wrote is caught (I1)")
  func invented() {
    let history = History()
    history.title("a1", "~2~")
    history.sync("a1")
    history.serverTitle("~2~ ~9~")
    #expect(history.end() == ["I1"])
  }

  @Test("one conflict that is logged twice is caught (I1)")
  func loggedTwice() {
    let history = History()
    history.log("c1", loser: "~1~", winner: "~1~")
    #expect(history.end().isEmpty)
    history.log("c2", loser: "~1~", winner: "~1~")
    #expect(history.end() == ["I1"])
  }

  @Test("a record lives again only when somebody creates it (I8)", arguments: [false, true])
  func resurrected(isCreated: Bool) {
    let history = History()
    history.write("a1") { $0[History.item] = nil }
    history.sync("a1")
    if isCreated { history.write("a1") { $0[History.item] = History.item("~2~") } }
    history.sync("a1")
    if !isCreated { history.put(History.item, History.item("~1~")) }
    history.answer("a1")
    #expect(history.broken == (isCreated ? [] : ["I8"]))
  }

  @Test("a deletion that was dealt with holds (I8)", arguments: [false, true])
  func undead(isBeyondReach: Bool) {
    let history = History()
    if isBeyondReach {
      history.share(accepted: true)
      history.sync("b")
      history.remove(RecordKey(table: "members", id: "m-bob"))
      history.answer("a1")
    }
    let device = isBeyondReach ? "b" : "a2"
    history.write(device) { $0[History.item] = nil }
    history.drop(device)
    history.sync(device)
    #expect(history.end(["a1", "a2", "b"]) == (isBeyondReach ? [] : ["I8"]))
  }

  // MARK: I6, I9, I10

  @Test(
    "a stranger who is made a member is caught, unless the stranger accepted it (I10)",
    arguments: [false, true])
  func strangerShares(isAccepted: Bool) {
    let history = History()
    history.share(accepted: isAccepted)
    #expect(history.end(["a1", "a2", "b"]) == (isAccepted ? [] : ["I10"]))
  }

  @Test("half a group is caught on a device and on the server (I6)", arguments: ["device", "server", ""])
  func pair(place: String) {
    let history = History()
    let keys = ["p", "q"].map { RecordKey(table: "items", id: $0) }
    history.write("a1") { for key in keys { $0[key] = History.item("x", pair: "g") } }
    history.send("a1")
    if place == "server" { history.remove(keys[0]) }
    history.answer("a1")
    history.receive("a1")
    if place == "device" { history.show("a1") { $0.tables[keys[0]] = nil } }
    #expect(TextSet(history.broken) == (place.isEmpty ? [] : ["I6"]))
  }

  @Test(
    "a reference to nothing is caught on a device and on the server (I9)",
    arguments: ["device", "server", ""])
  func orphan(place: String) {
    let history = History()
    let row = History.item("x").merging(["after_id": .text("i")]) { $1 }
    history.write("a1") { $0[Self.other] = row }
    history.sync("a1")
    if place == "server" {
      history.remove(History.item)
      history.answer("a1")
    }
    if place == "device" { history.show("a1") { $0.tables[History.item] = nil } }
    #expect(history.broken == (place.isEmpty ? [] : ["I9"]))
  }

  @Test("a reference into another zone is caught on the server (I9)")
  func torn() {
    let history = History()
    history.write("a1") { $0[Self.other] = History.item("x").merging(["zone": .text("ann")]) { $1 } }
    history.sync("a1")
    #expect(history.broken == ["I9"])
  }

  @Test(
    "changes of a stranger's zone are caught (I10)",
    arguments: [("l", ["I10"]), ("bob", []), ("catalogue", [])])
  func strangersAnswer(zone: String, expected: [String]) {
    let history = History()
    history.answer("b", zones: [zone])
    #expect(history.broken == expected)
  }

  @Test("records of a stranger's zone are caught at the end (I10)")
  func strangersRecords() {
    let history = History()
    history.show("b") { $0.tables = history.server.tables }
    #expect(TextSet(history.finish(["b"])) == ["I10"])
  }

  // MARK: I2, I4, I7, I12

  @Test("a device that lacks a record, or has another value, is caught (I7)")
  func diverged() {
    let history = History()
    history.show("a1") { $0.tables[History.item] = nil }
    history.show("a2") { $0.tables[History.item]?["after_id"] = .text("i") }
    #expect(history.finish() == ["I7", "I7"])
  }

  @Test("what waits at the end is caught (I12)")
  func waiting() {
    let history = History()
    history.title("a1", "~2~")
    history.serverTitle("~2~")
    history.show("a1") {
      $0.tables = history.server.tables
      $0.edits = [.init(key: History.item, kind: "update", column: "title", base: .text("~1~"))]
    }
    history.receive("a2")
    #expect(history.finish() == ["I12", "I12"])
  }

  @Test("counters that go back or meet are caught (I2, I4)")
  func counters() {
    func broken(_ change: (History) -> Void) -> [String] {
      let history = History()
      history.server.confirmed[1] = 5
      history.answer("a1")
      change(history)
      history.answer("a1")
      return history.broken
    }
    #expect(broken { $0.serverTitle("x") } == [])
    #expect(broken { $0.server.confirmed[1] = 4 } == ["I2"])
    #expect(broken { $0.server.tables[History.item]?["title"] = .text("x") } == ["I4", "I4"])
    #expect(broken { $0.server.zones["l"] = .init(seq: 2) }.contains("I4"))
    #expect(broken { $0.server.seqs[History.item] = $0.server.seqs[History.list] } == ["I4"])
    #expect(
      broken {
        $0.server.tables[History.item] = nil
        $0.server.seqs[History.item] = nil
      } == ["I4"])
  }

  @Test("a device opens as it was left (I2)")
  func reopened() throws {
    let history = History()
    history.title("a1", "~2~")
    let view = try #require(history.devices["a1"]?.view)
    history.oracle.reopened(device: "a1", view: view)
    #expect(history.broken.isEmpty)
    var old = view
    old.tables[History.item]?["title"] = .text("~1~")
    history.oracle.reopened(device: "a1", view: old)
    #expect(history.broken == ["I2"])
    var sent = view
    sent.outbox = []
    history.oracle.reopened(device: "a1", view: sent)
    #expect(history.broken == ["I2", "I2"])
  }

  @Test("a device killed while it applied an answer may show it (I2)")
  func reopenedLater() throws {
    let history = History()
    history.serverTitle("x")
    var view = try #require(history.devices["a1"]?.view)
    view.tables = history.server.tables
    history.oracle.reopened(device: "a1", view: view, mayHaveApplied: true)
    #expect(history.broken.isEmpty)
  }

  @Test("a damaged file is caught (I2, I9)")
  func damaged() {
    let history = History()
    let soundness = [Soundness(place: "a1", faults: ["page 3", "foreign key: items"])]
    #expect(history.end(["a1"], soundness) == ["I2", "I9"])
  }
}
