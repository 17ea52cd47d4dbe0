import HoldfastCore

/// Apps that get new columns, and fetch all zones anew for them, while the server is restored.
extension Scenario {
  static var restoredUpgrades: [Scenario] {
    [
      Scenario(
        name: "An app that is new behind a restore", guards: "I3, I8", users: [0, 1],
        troubles: [.crash, .ioError], takes: [.fillingJudged, .handedBack, .zoneHeld],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<2).map { _ in stage.makeItem(0, in: list) }
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          // Nobody but its maker has the other list, and what was written since into this one.
          let other = stage.makeList(0)
          let note = stage.makeItem(0, in: other)
          stage.goOffline(1)
          let title = stage.edit(0, "items", items[0], "title")
          stage.delete(0, "items", items[1])
          stage.sync(0)
          stage.sync(0)
          stage.restore()
          stage.interrupted("device0") {
            stage.perform(.upgrade(.device(0)))
            stage.pass(5000)
            stage.sync(0)
          }
          stage.goOnline(1)
          stage.settle()
          stage.expect("I3", stage.value("items", items[0], "title") == title, "the edit is handed back")
          stage.expect("I3", stage.isThere("items", note), "so is the other list")
          stage.expect("I8", !stage.isThere("items", items[1]), "what was deleted stays deleted")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "An app that is new, and nothing was lost", guards: "I3", users: [0, 1],
        takes: [.fillingJudged],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1")
          stage.perform(.upgrade(.server))
          stage.perform(.upgrade(.device(0)))
          stage.pass(2000)
          let item = stage.makeItem(0, in: list, due: "2026-02-03T04:05:06.007Z")
          stage.settle()
          stage.perform(.backUpServer)
          stage.goOffline(1)
          stage.restore()
          stage.perform(.upgrade(.device(1)))
          stage.goOnline(1)
          stage.settle()
          let due = stage.value("items", item, "due", on: 1)
          stage.expect(
            "I3", due != nil && due == stage.value("items", item, "due"), "the new column is filled")
          stage.expectNoRefusal()
        }),
    ]
  }
}
