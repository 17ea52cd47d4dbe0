import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Records that reference others.
enum RelationScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Child before parent", guards: "I9", answerSize: 600, takes: [.broughtForward, .pageStaged],
        script: { stage in
          stage.goOffline(1)
          // The child comes first in its transaction. The last changes of all parents come after those of the children.
          let (list, item, part) = (stage.newID(), stage.newID(), stage.newID())
          let texts = (0..<3).map { _ in stage.token() }
          stage.write(0) { db in
            try db.execute(
              "INSERT INTO parts (id, item_id, text) VALUES (?, ?, ?)",
              [.text(part), .text(item), .text(texts[0])])
            try db.execute(
              "INSERT INTO items (id, list_id, title, position) VALUES (?, ?, ?, ?)",
              [.text(item), .text(list), .text(texts[1]), .text(try db.position(after: nil, before: nil))])
            try db.execute("INSERT INTO lists (id, title) VALUES (?, ?)", [.text(list), .text(texts[2])])
          }
          for _ in 0..<4 { stage.makePart(0, of: item) }
          stage.edit(0, "items", item, "title")
          stage.edit(0, "lists", list, "title")
          stage.sync(0)
          stage.goOnline(1)
          stage.interrupted("device1") { stage.sync(1) }
          stage.settle()
          stage.expect("I9", stage.isThere("parts", part, on: 1), "the child is on the other device")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Parent deleted while a child was made offline", guards: "I3, I9",
        takes: [.createDeleted, .orphanSettled],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(1)
          let part = stage.makePart(1, of: item)
          let text = stage.value("parts", part, "text", on: 1) ?? ""
          stage.delete(0, "items", item)
          stage.sync(0)
          stage.pass(100_000)
          stage.goOnline(1)
          stage.answers(to: 1, .isHeld)
          stage.begin(1)
          stage.pass(500)
          // Another one is created while the request with the first is in transit.
          let late = stage.makePart(1, of: item)
          let lateText = stage.value("parts", late, "text", on: 1) ?? ""
          stage.calm()
          stage.interrupted("device1", "server") {
            stage.release()
            stage.sync(1)
          }
          stage.settle()
          stage.expect("I9", !stage.isThere("parts", late, on: 1), "no orphan")
          stage.expect("I3", stage.isLoser(lateText), "the late child is in the conflict log")
          stage.expect(
            "I9", !stage.isThere("parts", part) && !stage.isThere("parts", part, on: 1), "no orphan")
          stage.expect("I3", stage.isLoser(text), "the child is in the conflict log")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Record moved to another zone", guards: "I7, I10", users: [0, 0, 1, 2], takes: [.moved],
        script: { stage in
          let lists = [stage.makeList(0), stage.makeList(0)]
          let item = stage.makeItem(0, in: lists[0])
          let part = stage.makePart(0, of: item)
          // One other user can read the old zone, another the new one.
          stage.share(0, lists[0], with: "user1")
          stage.share(0, lists[1], with: "user2")
          stage.settle()
          stage.goOffline(0, 1)
          stage.set(0, "items", item, "list_id", .text(lists[1]))
          let title = stage.edit(1, "items", item, "title")
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for device in [0, 1, 3] {
            let row = stage[device].view.tables[RecordKey(table: "items", id: item)]
            stage.expect("I7", row?.zone == lists[1], "device \(device) has the item in its new zone, once")
            stage.expect("I7", row?["title"]?.string == title, "with what was typed meanwhile")
            stage.expect("I7", stage.isThere("parts", part, on: device), "and with what is under it")
          }
          stage.expect(
            "I10", !stage.isThere("items", item, on: 2), "who does not see the new zone has lost it")
          stage.expect("I10", !stage.isThere("parts", part, on: 2), "with all under it")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "A deletion in pieces", guards: "I1, I3, I7, I9", pieceWork: 1,
        takes: [.deletedInPieces],
        script: { stage in
          let list = stage.makeList(0)
          let (item, next) = (stage.makeItem(0, in: list), stage.makeItem(0, in: list))
          stage.settle()
          stage.goOffline(0)
          stage.delete(0, "items", item)
          stage.set(1, "items", next, "after_id", .text(item))
          let parts = (0..<3).map { _ in stage.makePart(1, of: item) }
          stage.pass(100_000)
          stage.goOffline(1)
          let text = stage.edit(1, "parts", parts[1], "text")
          let late = stage.makePart(1, of: item)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.goOnline(1)
          stage.settle()
          for device in 0...1 {
            stage.expect("I9", !stage.isThere("items", item, on: device), "device \(device) lost the item")
            for part in parts + [late] {
              stage.expect("I9", !stage.isThere("parts", part, on: device), "and all its parts")
            }
            stage.expect(
              "I7", stage.isThere("items", next, on: device), "device \(device) has the other item")
          }
          stage.expect("I3", stage.isLoser(text), "what was typed meanwhile is in the conflict log")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "A child whose parent moved where there was no room", guards: "I7, I9", answerSize: 900,
        takes: [.orphansDropped],
        script: { stage in
          let lists = [stage.makeList(0), stage.makeList(0)]
          let item = stage.makeItem(0, in: lists[0])
          stage.settle()
          stage.goOffline(1)
          let part = stage.makePart(1, of: item)
          // The item's new zone has more data than one answer holds.
          for _ in 0..<8 { stage.makeItem(0, in: lists[1]) }
          stage.set(0, "items", item, "list_id", .text(lists[1]))
          stage.sync(0)
          stage.pass(100_000)
          stage.goOnline(1)
          stage.interrupted("device1") { stage.sync(1) }
          stage.settle()
          for device in 0...1 {
            stage.expect("I7", stage.isThere("parts", part, on: device), "the child is on device \(device)")
            stage.expect("I7", stage.isThere("items", item, on: device), "and its parent")
          }
          stage.expectNoRefusal()
        }),
    ]
  }
}
