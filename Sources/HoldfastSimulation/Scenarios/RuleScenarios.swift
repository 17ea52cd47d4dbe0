import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Rules for a change set as a whole.
enum RuleScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "A move by who may not delete what goes along", guards: "I10", users: [0, 1],
        takes: [.roleInsufficient],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let seal = stage.makeSeal(0, of: item)
          stage.share(0, list, with: "user1")
          stage.settle()
          let own = stage.makeList(1)
          stage.settle()
          stage.goOffline(1)
          // Out of the list, deleted where its author is the owner, and back.
          stage.set(1, "items", item, "list_id", .text(own))
          stage.delete(1, "seals", seal)
          stage.set(1, "items", item, "list_id", .text(list))
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          stage.expect("I10", stage.isThere("seals", seal), "an editor has not deleted the seal")
          for device in [0, 1] {
            let row = stage[device].view.tables[RecordKey(table: "items", id: item)]
            stage.expect("I7", row?.zone == list, "the item is in its list on device \(device)")
            stage.expect("I7", stage.isThere("seals", seal, on: device), "and so is its seal")
          }
        }),
      Scenario(
        name: "A deletion by who may not delete what goes along", guards: "I10", users: [0, 1],
        takes: [.roleInsufficient],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let seal = stage.makeSeal(0, of: item)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.goOffline(1)
          stage.delete(1, "items", item)
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          for device in [0, 1] {
            stage.expect("I10", stage.isThere("seals", seal, on: device), "the seal is on device \(device)")
            stage.expect("I7", stage.isThere("items", item, on: device), "and the item too")
          }
        }),
      Scenario(
        name: "Unique values change places", guards: "I12", users: [0, 0],
        script: { stage in
          let list = stage.makeList(0)
          let items = ["one", "two", "three"].map { stage.makeItem(0, in: list, code: $0) }
          stage.settle()
          stage.goOffline(0)
          stage.giveCodes(0, zip(items, ["two", "three", "one"]))
          stage.giveCodes(0, zip(items, ["three", "two", "one"]))
          stage.delete(0, "items", items[0])
          let new = stage.makeItem(0, in: list, code: "three")
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for device in [0, 1] {
            stage.expect(
              "I7", stage.value("items", new, "code", on: device) == "three", "what was freed is taken")
            stage.expect(
              "I7", stage.value("items", items[1], "code", on: device) == "two", "the second has its code")
            stage.expect(
              "I7", stage.value("items", items[2], "code", on: device) == "one", "and the third has its")
          }
          stage.expectNoRefusal()
        }),
    ]
  }
}
