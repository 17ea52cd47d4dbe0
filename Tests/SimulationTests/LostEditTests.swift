import HoldfastCore
import Testing

@testable import HoldfastSimulation

/// I3: what the model takes for accounted for, and what for lost.
@Suite("The model and lost edits")
struct LostEditTests {
  @Test("an edit that arrives is no loss, one that doesn't is (I3)", arguments: [false, true])
  func arrives(isDropped: Bool) {
    let history = History()
    history.title("a1", "~2~")
    if isDropped { history.drop("a1") }
    history.sync("a1")
    #expect(history.end() == (isDropped ? ["I3"] : []))
  }

  @Test("a value that its follower knew may go, another may not (I3)", arguments: [false, true])
  func replaced(isKnown: Bool) {
    let history = History()
    history.title("a1", "~2~")
    history.sync("a1")
    if isKnown { history.sync("a2") }
    history.title("a2", "~3~")
    history.sync("a2")
    #expect(history.end() == (isKnown ? [] : ["I3"]))
  }

  @Test("the loser of a conflict must be in the log (I3)", arguments: [false, true])
  func conflict(isLogged: Bool) {
    let history = History()
    history.title("a1", "~2~")
    history.sync("a1")
    history.title("a2", "~3~")
    if isLogged { history.log("c", loser: "~2~", winner: "~3~") }
    history.sync("a2")
    #expect(history.end() == (isLogged ? [] : ["I3"]))
  }

  @Test("a refused edit must be in quarantine, and does not replace what it was based on (I3)")
  func refused() {
    let history = History()
    history.title("a1", "~2~")
    history.refuse("a1", resetting: "~1~")
    #expect(history.end().isEmpty)
    history.devices["a1"]?.view.quarantine = []
    #expect(history.finish() == ["I3"])

    let other = History()
    other.title("a1", "~2~")
    other.refuse("a1", resetting: "~1~")
    other.serverTitle("nothing")
    #expect(other.end() == ["I3"])
  }

  @Test("an edit on top of a refused one replaces what that one replaced (I3)", arguments: [false, true])
  func chain(isOnTop: Bool) {
    let history = History()
    history.title("a1", "~2~")
    if isOnTop { history.title("a1", "~3~") }
    history.refuse("a1", resetting: isOnTop ? "~3~" : "~1~")
    if !isOnTop { history.serverTitle("nothing") }
    history.sync("a1")
    #expect(history.end() == (isOnTop ? [] : ["I3"]))
  }

  @Test("what a person gave up does not count (I3)")
  func purged() {
    let history = History()
    history.title("a1", "~2~")
    history.drop("a1")
    history.oracle.purged(device: "a1")
    #expect(history.end().isEmpty)
  }

  @Test("an edit of a deleted record must be in the log (I3)", arguments: [false, true])
  func deleted(isLogged: Bool) {
    let history = History()
    history.title("a1", "~2~")
    history.sync("a1")
    history.write("a2") { $0[History.item] = nil }
    if isLogged { history.log("c", loser: "~2~") }
    history.sync("a2")
    #expect(history.end() == (isLogged ? [] : ["I3"]))
  }

  @Test("who deletes knows what stands under an own edit (I3)", arguments: [false, true])
  func deletedUnderAnEdit(isBase: Bool) {
    let history = History()
    history.title("a1", "~2~")
    history.sync("a1")
    history.title("a2", "~3~")
    let base: [DeviceView.Edit] = [
      .init(key: History.item, kind: "update", column: "title", base: .text("~2~"))
    ]
    history.show("a2") { $0.edits = isBase ? base : [] }
    history.write("a2") { $0[History.item] = nil }
    history.sync("a2")
    #expect(history.end() == (isBase ? [] : ["I3"]))
  }

  @Test(
    "a child that the server takes along must be known to who deleted the parent, or in the log (I3)",
    arguments: ["known", "logged", "neither"])
  func cascade(how: String) {
    let history = History()
    let child = RecordKey(table: "items", id: "child")
    history.write("a1") { $0[child] = History.item("~2~") }
    history.sync("a1")
    if how == "known" { history.sync("a2") }
    history.write("a2") { $0 = $0.filter { $0.key.table == "members" } }
    if how == "logged" { history.log("c", loser: "~2~", of: child) }
    history.remove(child)
    history.send("a2")
    #expect(history.end() == (how == "neither" ? ["I3"] : []))
  }

  @Test("what was deleted before, while that deletion waits, is known to who deletes the parent (I3)")
  func deletedTwice() {
    let history = History()
    history.write("a2") { $0[History.item] = nil }
    history.write("a2") { $0 = $0.filter { $0.key.table == "members" } }
    let body = history.devices["a2"]?.view.outbox.removeFirst() ?? ""
    history.show("a2") { $0.quarantine = [.init(number: 1, body: body, problem: "{}")] }
    history.remove(History.item)
    history.remove(History.list)
    history.answer("a2")
    #expect(history.end().isEmpty)
  }

  @Test("an answer must not overwrite an edit that waits (I3)", arguments: [false, true])
  func dirty(isOverwritten: Bool) {
    let history = History()
    history.title("a1", "~2~")
    history.title("a1", "~3~")
    history.show("a1") { if isOverwritten { $0.tables[History.item]?["title"] = .text("~2~") } }
    #expect(history.broken == (isOverwritten ? ["I3"] : []))
  }

  @Test("a record that went and came back need not show the edit that waits (I3)")
  func dirtyAfterLoss() {
    let history = History()
    history.title("a1", "~2~")
    let row = history.server.tables[History.item]
    history.show("a1") { $0.tables[History.item] = nil }
    history.show("a1") { $0.tables[History.item] = row }
    #expect(history.broken.isEmpty)
  }

  @Test("a refused change set has no effect (I6)")
  func refusedHalf() {
    let history = History()
    let other = RecordKey(table: "items", id: "other")
    history.write("a1") {
      $0[History.item]?["title"] = .text("~2~")
      $0[other] = History.item("~3~")
    }
    history.put(other, History.item("~3~"))
    history.answer("a1")
    history.refuse("a1", resetting: "~1~")
    #expect(history.end() == ["I6"])
  }
}
