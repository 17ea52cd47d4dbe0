import HoldfastCore

/// Apps and servers of different versions.
enum ChangeScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Schema change: older app, newer server", guards: "I3",
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.perform(.upgrade(.server))
          stage.pass(2000)
          stage.perform(.upgrade(.device(1)))
          stage.pass(2000)
          let due = stage.edit(1, "items", item, "due")
          stage.sync(1)
          // The old app reads, writes and sends the columns that it knows.
          stage.sync(0)
          let title = stage.edit(0, "items", item, "title")
          stage.sync(0)
          stage.expect(
            "I3", stage.value("items", item, "due") == due, "the new column is not dropped on write-back")
          stage.goOffline(0)
          let unsent = stage.edit(0, "items", item, "note")
          stage.interrupted("device0") {
            stage.perform(.upgrade(.device(0)))
            stage.pass(1000)
          }
          stage.goOnline(0)
          stage.settle()
          stage.expect(
            "I3", stage.value("items", item, "due", on: 0) == due, "the old record has its new column")
          stage.expect(
            "I3", stage.value("items", item, "title", on: 1) == title, "the old app's edit arrived")
          stage.expect("I3", stage.value("items", item, "note") == unsent, "what was unsent arrived")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Schema change: newer app, older server", guards: "I3, I12", troubles: [.crash],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.perform(.upgrade(.device(0)))
          stage.pass(2000)
          stage.expect("I3", stage.isThere("items", item, on: 0), "nothing is wiped")
          let due = stage.edit(0, "items", item, "due")
          let title = stage.edit(0, "items", item, "title")
          stage.settle()
          stage.expect(
            "I3", stage.isQuarantined(due, on: 0), "what the server does not know waits in quarantine")
          stage.expect("I12", stage.value("items", item, "title") == title, "and stops nothing")
          stage.interrupted("server") {
            stage.perform(.upgrade(.server))
            stage.pass(2000)
          }
          let later = stage.edit(0, "items", item, "due")
          stage.settle()
          stage.perform(.upgrade(.device(1)))
          stage.pass(2000)
          stage.settle()
          stage.expect(
            "I3", stage.value("items", item, "due", on: 1) == later, "later the column is known to all")
        }),
      Scenario(
        name: "What an older server did not know was deleted behind it", guards: "I3, I8", users: [0],
        takes: [.quarantined],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.perform(.upgrade(.device(0)))
          stage.pass(2000)
          stage.goOffline(0)
          let item = stage.makeItem(0, in: list, due: "soon")
          let title = stage.value("items", item, "title", on: 0) ?? ""
          stage.delete(0, "items", item)
          stage.goOnline(0)
          stage.settle()
          stage.perform(.upgrade(.server))
          stage.pass(2000)
          stage.settle()
          stage.expect("I8", !stage.isThere("items", item), "it is not written again by itself")
          stage.expect("I3", stage.isQuarantined(title, on: 0), "it waits for a person")
        }),
    ]
  }
}
