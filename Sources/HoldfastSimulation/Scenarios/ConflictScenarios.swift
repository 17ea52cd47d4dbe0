import HoldfastCore

/// Concurrent edits of the same record.
enum ConflictScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Update of a record deleted elsewhere", guards: "I3, I8", takes: [.updateDeleted],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(1)
          let text = stage.edit(1, "items", item, "title")
          stage.delete(0, "items", item)
          stage.sync(0)
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          stage.expect("I8", !stage.isThere("items", item), "the item stays deleted")
          stage.expect("I8", !stage.isThere("items", item, on: 1), "also where it was edited")
          stage.expect("I3", stage.isLoser(text), "the conflict log has the edit")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Two devices delete the same record", guards: "I8", takes: [.deletedNothing],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(0, 1)
          stage.delete(0, "items", item)
          stage.delete(1, "lists", list)
          stage.delete(0, "lists", list)
          stage.settle()
          stage.expect("I8", !stage.isThere("lists", list) && !stage.isThere("items", item), "both are gone")
          stage.expect("I8", stage.losers.isEmpty, "that is no conflict")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Clock skew", guards: "I7", users: [0, 0, 0], takes: [.mergeWon, .mergeLost],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          let year: Int64 = 365 * 86_400_000
          stage.perform(.clock(.device(0), by: 10 * year))
          stage.perform(.clock(.device(2), by: -10 * year))
          stage.goOffline(1, 2)
          let fast = stage.edit(0, "lists", list, "title")
          stage.sync(0)
          stage.pass(5000)
          // Later in real time, and without having seen it.
          let later = stage.edit(1, "lists", list, "title")
          stage.goOnline(1)
          stage.sync(1)
          stage.expect(
            "I7", stage.value("lists", list, "title") == later, "the later edit wins over a fast clock")
          stage.expect("I3", stage.isLoser(fast), "the log has the other")
          // A concurrent edit with an older stamp loses, however late it arrives.
          let slow = stage.edit(2, "lists", list, "title")
          stage.goOnline(2)
          stage.sync(2)
          stage.expect(
            "I7", stage.value("lists", list, "title") == later, "an edit of a slow clock gives way")
          stage.expect("I3", stage.isLoser(slow), "and is logged")
          stage.settle()
          // A device that has seen the last value replaces it, whatever its clock.
          let known = stage.edit(2, "lists", list, "title")
          stage.settle()
          stage.expect("I7", stage.value("lists", list, "title") == known, "who knew the last value edits it")
          // Again: the fast device has not advanced the others' clocks.
          stage.goOffline(0, 1)
          stage.edit(0, "lists", list, "title")
          stage.goOnline(0)
          stage.sync(0)
          stage.pass(5000)
          let last = stage.edit(1, "lists", list, "title")
          stage.settle()
          stage.expect(
            "I7", stage.value("lists", list, "title") == last, "the fast device does not win for ever")
        }),
      Scenario(
        name: "Clock skew of the server", guards: "I7",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          for jump in [Int64(3650), -7300] {
            stage.perform(.clock(.server, by: jump * 86_400_000))
            stage.edit(0, "lists", list, "title")
            stage.settle()
            let last = stage.edit(1, "lists", list, "title")
            stage.settle()
            stage.expect(
              "I7", stage.value("lists", list, "title") == last, "who knew the last value edits it")
          }
          stage.expect("I7", stage.losers.isEmpty, "that is no conflict")
        }),
    ]
  }
}
