import Holdfast
import HoldfastCore
import HoldfastServer

/// A server that is restored from a backup, and the recovery from devices.
enum RestoreScenarios {
  static var all: [Scenario] {
    whole + [recoveredFirst(0), recoveredFirst(1)] + zones + downloadsOfBefore + RestoredRenewalScenarios.all
      + PutBackScenarios.all
      + RecoveryScenarios.all
  }

  private static var whole: [Scenario] {
    [
      Scenario(
        name: "Server restored from a backup", guards: "I2, I3, I8", users: [0, 1],
        troubles: Command.Trouble.allCases,
        takes: [.aheadOfRestore, .recoveryNoted, .recovered, .zoneAwaitingRecovery],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<2).map { _ in stage.makeItem(0, in: list) }
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let title = stage.edit(1, "items", items[0], "title")
          stage.delete(0, "items", items[1])
          let new = stage.makeItem(1, in: list)
          let other = stage.makeList(0)
          stage.share(0, other, with: "user1")
          stage.settle()
          stage.goOffline(1)
          let unsent = stage.edit(1, "items", new, "title")
          stage.goOnline(1)
          stage.interrupted("server", "device0", "device1") {
            stage.perform(.restoreServer)
            stage.pass(5000)
            stage.sync(1)
            stage.sync(0)
            stage.sync(1)
          }
          stage.settle()
          stage.expect("I3", stage.value("items", items[0], "title") == title, "the edit is recovered")
          stage.expect("I3", stage.value("items", new, "title") == unsent, "so is the item, under its edit")
          stage.expect("I8", !stage.isThere("items", items[1]), "what was deleted stays deleted")
          stage.expect("I10", stage.isThere("lists", other, on: 1), "the other list is back, with its member")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Restored twice", guards: "I3, I8", users: [0, 1], takes: [.recovered],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let first = stage.makeItem(0, in: list)
          stage.settle()
          stage.restore()
          stage.settle()
          let second = stage.makeItem(1, in: list)
          stage.delete(1, "items", item)
          stage.settle()
          stage.restore()
          stage.settle()
          // A zone that was resynced a moment ago does not wait.
          stage.expect("I3", stage.isThere("items", first), "what the first restore had lost is there")
          stage.expect("I3", stage.isThere("items", second), "and what the second had")
          stage.expect("I8", !stage.isThere("items", item), "what was deleted in between stays deleted")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Two devices recover the same", guards: "I1, I7", users: [0, 1],
        takes: [.recovered],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let title = stage.edit(1, "items", item, "title")
          let new = stage.makeItem(1, in: list)
          stage.settle()
          stage.perform(.restoreServer)
          stage.pass(5000)
          // The requests that recover it arrive at the same moment.
          stage.fate = { $0.isRequest && $0.json["recovered"] != nil ? .isHeld : .passes }
          stage.begin(0)
          stage.begin(1)
          stage.pass(2000)
          stage.expect("I7", stage.held.count == 2, "both recover")
          stage.settle()
          stage.expect("I3", stage.value("items", item, "title") == title, "the edit is back")
          stage.expect("I1", stage.rev("items", item) == 2 && stage.rev("items", new) == 1, "once")
          stage.expect("I1", stage.losers.isEmpty, "and nothing is logged")
        }),
      Scenario(
        name: "What a viewer alone has", guards: "I10", users: [0, 1], takes: [.aheadOfRestore],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1", role: "viewer")
          stage.settle()
          stage.perform(.backUpServer)
          let new = stage.makeItem(0, in: list)
          stage.settle()
          stage.perform(.signOut(device: 0, removingData: true), seed: 3)
          stage.restore()
          stage.settle()
          stage.expect("I10", !stage.isThere("items", new), "who may not write hands nothing back")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Deleted before somebody recovers it", guards: "I8", users: [0, 1],
        takes: [.zoneAwaitingRecovery, .deletedUnknown],
        script: { stage in
          stage.settle()
          stage.perform(.backUpServer)
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1")
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(0)
          stage.restore()
          // Only the owner's device can prove that the list existed.
          stage.delete(1, "items", item)
          stage.sync(1)
          stage.expect(
            "I8", stage.problems(on: 1).contains("record-unknown"), "what the server can't delete waits")
          stage.expect("I8", stage.isThere("items", item, on: 1), "and the record is back")
          stage.goOnline(0)
          stage.settle()
          stage.expect("I3", stage.isThere("items", item), "the record was recovered")
        }),
      Scenario(
        name: "An edit of each of two histories", guards: "I3", users: [0, 1],
        takes: [.unseenDeviceAsked, .recoveryLost],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let lost = stage.edit(0, "items", item, "title")
          stage.sync(0)
          stage.goOffline(0)
          stage.restore()
          // The same `rev`, in the current history.
          let title = stage.edit(1, "items", item, "title")
          stage.sync(1)
          stage.settle()
          stage.expect("I3", stage.value("items", item, "title") == title, "the edit since stays")
          stage.expect("I3", stage.isLoser(lost), "the one that was recovered is in the log")
        }),
      Scenario(
        name: "Edited more often since the restore", guards: "I3, I1", users: [0, 1, 1],
        takes: [.unseenDeviceAsked, .recoveryMerged],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          let other = stage.makeItem(0, in: list)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let lost = stage.edit(0, "items", item, "title")
          stage.sync(0)
          // Two devices have it, one of them with another edit.
          stage.sync(1)
          stage.goOffline(1)
          let note = stage.edit(0, "items", item, "note")
          stage.sync(0)
          stage.goOffline(0)
          stage.restore()
          var title = ""
          for _ in 0..<4 {
            title = stage.edit(2, "items", item, "title")
            stage.edit(2, "items", other, "title")
            stage.sync(2)
          }
          stage.goOnline(1)
          stage.sync(1)
          stage.settle()
          stage.expect("I3", stage.value("items", item, "title") == title, "the edit since stays")
          stage.expect("I3", stage.value("items", item, "note") == note, "nobody has changed the note since")
          stage.expect(
            "I3", TextSet(stage.losers) == ["\"\(lost)\""],
            "and the lost title alone is in the log: \(stage.losers)")
          stage.expectNoRefusal()
        }),
    ]
  }

  /// - Parameter first: the device that recovers first: 0 knows the deletions, 1 does not.
  private static func recoveredFirst(_ first: Int) -> Scenario {
    Scenario(
      name: "A deletion after the backup is recovered\(first == 0 ? "" : ", by the second device")",
      guards: "I8", users: [0, 0], takes: [.recovered],
      script: { stage in
        let list = stage.makeList(0)
        let item = stage.makeItem(0, in: list)
        stage.settle()
        stage.perform(.backUpServer)
        // One item in the backup, one newer item, and a list.
        let new = stage.makeItem(0, in: list)
        let other = stage.makeList(0)
        let note = stage.makeItem(0, in: other)
        stage.settle()
        stage.goOffline(1)
        stage.delete(0, "items", item)
        stage.delete(0, "items", new)
        stage.delete(0, "lists", other)
        stage.sync(0)
        stage.sync(0)
        stage.goOffline(0)
        stage.restore()
        stage.goOnline(first)
        stage.sync(first)
        stage.settle()
        for (table, id) in [("items", item), ("items", new), ("lists", other), ("items", note)] {
          stage.expect("I8", !stage.isThere(table, id), "what was deleted stays deleted: \(table) \(id)")
        }
        stage.expectNoRefusal()
      })
  }

  private static var zones: [Scenario] {
    [
      Scenario(
        name: "A record that moved after the backup", guards: "I7, I3", users: [0, 1],
        takes: [.recovered],
        script: { stage in
          let (list, other) = (stage.makeList(0), stage.makeList(0))
          let items = (0..<2).map { _ in stage.makeItem(0, in: list) }
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          for item in items { stage.set(0, "items", item, "list_id", .text(other)) }
          stage.settle()
          stage.goOffline(0)
          stage.restore()
          // It sees that they left, but not their new zone.
          stage.sync(1)
          stage.settle()
          for item in items {
            stage.expect("I3", stage.value("items", item, "list_id") == other, "it is where it was moved to")
          }
          stage.expect("I3", stage.losers.isEmpty, "and nothing is logged: \(stage.losers)")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Deleted since the restore, and purged", guards: "I8",
        users: [0, 0], takes: [.tombstonesPurged, .aheadOfRestore],
        script: { stage in
          func deleteSinceRestore(_ item: String, days: Int64) {
            stage.settle()
            stage.goOffline(1)
            stage.restore()
            stage.sync(0)
            stage.delete(0, "items", item)
            stage.sync(0)
            stage.age(days: days)
            stage.sync(0)
            stage.sync(0)
            Operator(world: stage.world).purge(Retention())
          }
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.perform(.backUpServer)
          stage.makeItem(1, in: list)
          deleteSinceRestore(item, days: 2)
          stage.expect("I8", stage.tombstones(of: list) == 1, "the other device may have it still")
          stage.goOnline(1)
          stage.settle()
          stage.expect("I8", !stage.isThere("items", item), "what was deleted stays deleted")
          stage.age(days: 100)
          stage.settle()
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "all were heard, and have acked")
          // And with a device that has expired.
          stage.perform(.backUpServer)
          let new = stage.makeItem(0, in: list)
          deleteSinceRestore(new, days: 100)
          stage.expect("I11", stage.tombstones(of: list) == 0, "nobody waits for a dead device")
          stage.goOnline(1)
          stage.settle()
          stage.expect("I8", !stage.isThere("items", new), "it hands nothing back")
        }),
    ]
  }

  private static var downloadsOfBefore: [Scenario] {
    [
      Scenario(
        name: "Restored while a device downloads", guards: "I7, I4", answerSize: 700,
        takes: [.pageStaged, .aheadOfRestore],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(1)
          for item in items { stage.edit(0, "items", item, "title") }
          stage.sync(0)
          stage.perform(.backUpServer)
          // The record's new seq is beyond the downloaded pages.
          stage.edit(0, "items", items[0], "title")
          stage.sync(0)
          stage.downloadTwoPages(1)
          stage.goOffline(0)
          stage.interrupted("device1", "server") {
            stage.restore()
            stage.sync(1)
          }
          if stage.interruption != nil { stage.sync(1) }
          stage.world.lookAtServer()
          for item in items {
            let (here, there) = (
              stage.value("items", item, "title", on: 1), stage.value("items", item, "title")
            )
            stage.expect("I7", here == there, "the device has what the server has, \(there ?? "nothing")")
          }
          stage.settle()
        }),
      Scenario(
        name: "Confirmed while its zone comes in parts, and lost by a restore", guards: "I3, I7",
        answerSize: 700,
        takes: [.pageStaged, .aheadOfRestore, .unappliedLost],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(1)
          for item in items { stage.edit(0, "items", item, "title") }
          stage.sync(0)
          stage.perform(.backUpServer)
          // It learns that these are confirmed, but not their revisions.
          let new = stage.makeItem(1, in: list)
          let note = stage.edit(1, "items", items[9], "note")
          stage.downloadTwoPages(1)
          stage.expect("I3", stage.isThere("items", new), "the server had them")
          stage.goOffline(0)
          stage.interrupted("device1", "server") {
            stage.restore()
            stage.sync(1)
          }
          stage.settle()
          let isBack = stage.value("items", items[9], "note") == note && stage.isThere("items", new)
          stage.expect(
            "I3", isBack || stage.isQuarantined(note, on: 1) && stage.isQuarantined(new, on: 1),
            "nobody else has them: they wait in quarantine")
        }),
      Scenario(
        name: "Restored while a dead device resyncs", guards: "I8", answerSize: 700,
        takes: [.devicePurged, .tombstonesPurged, .pageStaged, .aheadOfRestore],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(1)
          for item in items.prefix(2) { stage.delete(0, "items", item) }
          stage.sync(0)
          stage.pass(100_000)
          stage.age(days: 100)
          stage.sync(0)
          Operator(world: stage.world).purge(Retention())
          stage.expect("I11", stage.tombstones(of: list) == 0, "the deletions are purged")
          stage.perform(.backUpServer)
          for item in items.dropFirst(2) { stage.edit(0, "items", item, "title") }
          stage.sync(0)
          stage.downloadTwoPages(1)
          stage.goOffline(1)
          stage.restore()
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          for item in items.prefix(2) {
            stage.expect("I8", !stage.isThere("items", item), "what was deleted and purged stays deleted")
          }
        }),
    ]
  }
}
