import Holdfast
import HoldfastCore
import HoldfastServer

/// Purged tombstones, and devices that missed them.
enum RetentionScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Purge while a device downloads", guards: "I8, I4", answerSize: 700,
        takes: [.pagesApplied, .tombstonesPurged],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.sync(0)
          stage.downloadTwoPages(1)
          // Of the downloaded pages, and of those still to come.
          for item in [items[0], items[9]] { stage.delete(0, "items", item) }
          stage.sync(0)
          stage.age(days: 2)
          stage.sync(0)
          stage.interrupted("device1", "server") {
            Operator(world: stage.world).purge(Retention())
            stage.sync(1)
            stage.sync(1)
            Operator(world: stage.world).purge(Retention())
          }
          stage.expect("I11", stage.interruption != nil || stage.resets == 0, "it acks, and is not reset")
          stage.settle()
          for item in [items[0], items[9]] {
            stage.expect("I8", !stage.isThere("items", item, on: 1), "what was deleted is not there")
          }
          stage.age(days: 2)
          stage.settle()
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "all have acked: nothing is left")
        }),
      Scenario(
        name: "A purged zone comes in pages", guards: "I11, I7", answerSize: 700,
        takes: [.pagesApplied, .tombstonesPurged],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.sync(0)
          stage.delete(0, "items", items[9])
          stage.sync(0)
          stage.age(days: 2)
          stage.sync(0)
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "the deletion is purged")
          // The first pages end before it.
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          stage.expect("I11", stage.resets == 0, "what was purged before the download does not end it")
          stage.expect("I7", stage.order(of: list, on: 1) == stage.order(of: list), "the zone came whole")
        }),
      Scenario(
        name: "Stale device restores the dead", guards: "I8, I3",
        takes: [.devicePurged, .tombstonesPurged, .fenced, .resetDone, .recordUnknown],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<4).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(1)
          let title = stage.edit(1, "items", items[0], "title")
          let other = stage.edit(1, "items", items[3], "title")
          let new = stage.makeItem(1, in: list)
          for item in items.prefix(2) { stage.delete(0, "items", item) }
          stage.sync(0)
          stage.pass(100_000)
          stage.age(days: 100)
          stage.sync(0)
          stage.interrupted("device1", "server") {
            Operator(world: stage.world).purge(Retention())
            stage.goOnline(1)
            stage.sync(1)
          }
          stage.settle()
          for item in items.prefix(2) {
            stage.expect("I8", !stage.isThere("items", item), "what was deleted stays deleted")
            stage.expect("I8", !stage.isThere("items", item, on: 1), "and leaves the device")
          }
          // If the purge was interrupted, the server may still have the tombstone.
          stage.expect(
            "I3", stage.isQuarantined(title, on: 1) || stage.isLoser(title),
            "the edit of what is gone is in quarantine, or in the log")
          stage.expect("I3", stage.value("items", items[3], "title") == other, "the other edit arrived")
          stage.expect("I3", stage.isThere("items", new), "and the new item")
        }),
      Scenario(
        name: "A copy restores the dead", guards: "I8, I3, I7",
        takes: [.renumbered, .copyLeftOut, .tombstonesPurged],
        script: { stage in
          stage.goOffline(0)
          let note = stage.makeNote(0)
          stage.clone(0)
          stage.goOffline(2)
          stage.goOnline(0)
          stage.sync(0)
          stage.makeNote(0)
          stage.sync(0)
          stage.delete(0, "notes", note)
          stage.settleWithout(2)
          stage.age(days: 2)
          stage.settleWithout(2)
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.server.tombstones.isEmpty, "the deletion is purged")
          // The server only knows that the create in the copy's outbox took effect.
          stage.goOnline(2)
          stage.interrupted("device2", "server") { stage.sync(2) }
          stage.settle()
          stage.expect("I8", !stage.isThere("notes", note), "the note stays deleted")
          stage.expect("I8", !stage.isThere("notes", note, on: 2), "and leaves the copy")
          stage.expect("I3", stage.problems(on: 2).isEmpty, "nothing waits, \(stage.problems(on: 2))")
        }),
      Scenario(
        name: "A refused deletion of what is purged", guards: "I7, I8", users: [0, 0],
        takes: [.tombstonesPurged, .quarantined],
        script: { stage in
          let other = stage.makeList(0)
          stage.settle()
          let list = stage.makeList(0)
          stage.fate = { !$0.isRequest && $0.isSync && $0.message.device.number == 0 ? .isLost : .passes }
          stage.sync(0)
          stage.goOffline(0)
          stage.sync(1)
          stage.delete(1, "lists", list)
          stage.settleWithout(0)
          stage.age(days: 2)
          stage.settleWithout(0)
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "the deletion is purged")
          // It never learned that the list arrived.
          stage.write(0) {
            try $0.execute("DELETE FROM lists WHERE id = ?", [.text(list)])
            try $0.execute(
              "INSERT INTO members (id, zone, name, role) VALUES (?, ?, 'nobody', 'editor')",
              [.text(stage.newID()), .text(other)])
          }
          stage.fate = { _ in .passes }
          stage.goOnline(0)
          stage.interrupted("device0") { stage.sync(0) }
          stage.settle()
          stage.expect("I8", !stage.isThere("lists", list, on: 0), "the list leaves the device")
        }),
      Scenario(
        name: "A dead device holds tombstones for ever", guards: "I11",
        takes: [.devicePurged, .tombstonesPurged],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(1)
          for round in 0..<3 {
            for _ in 0..<5 {
              let item = stage.makeItem(0, in: list)
              stage.sync(0)
              stage.delete(0, "items", item)
              stage.sync(0)
            }
            stage.age(days: 40)
            stage.sync(0)
            stage.sync(0)
            Operator(world: stage.world).purge(Retention())
            stage.expect(
              "I11", stage.tombstones(of: list) == (round < 2 ? 5 * (round + 1) : 0),
              "after \((round + 1) * 40) days there are \(stage.tombstones(of: list)) tombstones")
          }
          stage.goOnline(1)
          stage.settle()
        }),
      Scenario(
        name: "A server that resets again and again", guards: "I3, I12", users: [0],
        takes: [.fenced, .resetBegun, .resetDone, .resetPutOff],
        script: { stage in
          let (list, other) = (stage.makeList(0), stage.makeList(0))
          let item = stage.makeItem(0, in: list)
          stage.settle()
          func reset() throws {
            // The server knows all of its data.
            stage.sync(0)
            try stage.changeServer("UPDATE holdfast_acks SET lost = 1 WHERE zone = '\(list)' AND epoch <> ''")
          }
          try reset()
          stage.sync(0)
          stage.expect("I3", stage.waiting(0).isEmpty, "the first is followed at once")
          try reset()
          let edit = stage.edit(0, "items", item, "title")
          let new = stage.makeItem(0, in: other)
          stage.sync(0)
          stage.expect("I12", stage.waiting(0) == [list], "the second waits")
          stage.expect("I3", stage.value("items", item, "title") == edit, "edits of the zone go up")
          stage.expect("I12", stage.isThere("items", new), "and those of others")
          let asked = stage.world.messages
          stage.pass(50_000)
          stage.expect("I12", stage.world.messages < asked + 12, "it does not ask again and again")
          stage.pass(30_000)
          stage.expect("I12", stage.waiting(0).isEmpty, "after a minute it is followed")
          try reset()
          stage.sync(0)
          stage.pass(90_000)
          stage.expect("I12", stage.waiting(0) == [list], "the next takes two")
          stage.pass(60_000)
          stage.expect("I12", stage.waiting(0).isEmpty, "and no more")
          stage.settle()
        }),
      Scenario(
        name: "A download that is reset twice", guards: "I12, I4", answerSize: 700,
        takes: [.pageStaged, .resetBegun, .resetPutOff, .resetDone],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          for _ in 0..<10 { stage.makeItem(0, in: list) }
          stage.sync(0)
          for _ in 0..<2 {
            stage.downloadTwoPages(1)
            try stage.changeServer("UPDATE holdfast_acks SET lost = 1 WHERE zone = '\(list)' AND epoch <> ''")
          }
          // It has pages of a postponed zone, and completes it.
          stage.sync(1)
          stage.expect("I12", stage.waiting(1) == [list], "the second reset waits")
          stage.pass(90_000)
          stage.settle()
          stage.expect("I4", stage.order(of: list, on: 1).count == 10, "the zone came whole")
        }),
      Scenario(
        name: "The server's clock jumps", guards: "I3, I11", takes: [.tombstonesPurged],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(1)
          stage.delete(0, "items", item)
          stage.edit(0, "lists", list, "title")
          stage.edit(1, "lists", list, "title")
          stage.settleWithout(1)
          let before = stage.tombstones(of: list)
          stage.perform(.clock(.server, by: 400 * Operator.day))
          stage.interrupted("server") { Operator(world: stage.world).purge(Retention()) }
          stage.expect("I11", stage.tombstones(of: list) == before, "one jump purges nothing")
          stage.goOnline(1)
          stage.settle()
          stage.expect("I3", stage.losers.count == 1, "the edits have met")
          stage.expect("I11", stage.resets == 0, "who was away for a moment is not taken for dead")
          Operator(world: stage.world).purge(Retention())
          stage.expect("I3", stage.losers.count == 1, "the log is kept")
          stage.perform(.clock(.server, by: -400 * Operator.day))
          Operator(world: stage.world).purge(Retention())
          stage.expect("I3", stage.losers.count == 1, "nor does it go when the clock is set right")
          stage.age(days: 2)
          stage.settle()
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "what is measured counts")
        }),
    ]
  }
}
