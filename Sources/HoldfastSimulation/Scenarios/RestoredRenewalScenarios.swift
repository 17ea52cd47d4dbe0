import HoldfastCore

/// Zones to resync, for new columns or at the server's request, while the server is restored.
enum RestoredRenewalScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "An app that is new behind a restore", guards: "I3, I8", users: [0, 1],
        troubles: [.crash, .ioError], takes: [.fillingVerified, .recovered, .zoneAwaitingRecovery],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<2).map { _ in stage.makeItem(0, in: list) }
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          // Only its creator has the other list, and the later edits of this one.
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
          stage.expect("I3", stage.value("items", items[0], "title") == title, "the edit is recovered")
          stage.expect("I3", stage.isThere("items", note), "so is the other list")
          stage.expect("I8", !stage.isThere("items", items[1]), "what was deleted stays deleted")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "An app that is new, and nothing was lost", guards: "I3", users: [0, 1],
        takes: [.fillingVerified],
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
          stage.world.server.keepsHistoryFile = false
          stage.restore()
          stage.perform(.upgrade(.device(1)))
          stage.goOnline(1)
          stage.settle()
          let due = stage.value("items", item, "due", on: 1)
          stage.expect(
            "I3", due != nil && due == stage.value("items", item, "due"), "the new column is filled")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Confirmed while its zone waits to be resynced, and lost by a restore", guards: "I3, I7",
        users: [0], troubles: [.crash], takes: [.resetPutOff, .unappliedLost],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          for isLast in [false, true] {
            // The server knows all of its data.
            stage.sync(0)
            if isLast { stage.perform(.backUpServer) }
            try stage.changeServer("UPDATE holdfast_acks SET lost = 1 WHERE zone = '\(list)' AND epoch <> ''")
            stage.sync(0)
          }
          stage.expect("I12", stage.waiting(0) == [list], "the second reset within the hour waits")
          // It learns that these are confirmed, but not their revisions.
          let new = stage.makeItem(0, in: list)
          let title = stage.edit(0, "items", item, "title")
          stage.sync(0)
          stage.expect("I3", stage.isThere("items", new), "the server had them")
          stage.interrupted("device0", "server") {
            stage.restore()
            stage.sync(0)
          }
          stage.pass(200_000)
          stage.settle()
          let isBack = stage.value("items", item, "title") == title && stage.isThere("items", new)
          stage.expect(
            "I3", isBack || stage.isQuarantined(title, on: 0) && stage.isQuarantined(new, on: 0),
            "nobody else has them: they wait in quarantine")
        }),
    ]
  }
}
