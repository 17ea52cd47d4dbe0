import Holdfast
import HoldfastCore

/// Zones that a database has lost, and who may recover them: docs/RESTORING.md, sections 3 and 4.
enum RecoveryScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "A former viewer claims a lost zone", guards: "I10, I3", users: [0, 1],
        takes: [.zoneAwaitingRecovery, .proofWanted, .zoneRecovered],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.perform(.backUpServer)
          let lost = stage.makeList(0)
          stage.share(0, lost, with: "user1", role: "viewer")
          let item = stage.makeItem(0, in: lost)
          stage.settle()
          stage.goOffline(0)
          stage.restore()
          stage.sync(1)
          stage.sync(1)
          stage.expect("I10", !stage.isThere("lists", lost), "a viewer brings no zone back")
          stage.expect("I10", stage.holders(of: lost).isEmpty, "nor becomes a member of it")
          stage.expect("I3", stage.awaiting(1) == [lost], "the device says that it waits for its owner")
          stage.goOnline(0)
          stage.settle()
          stage.expect("I3", stage.isThere("items", item, on: 1), "the owner's device brings it back")
          stage.expect("I3", stage.awaiting(1).isEmpty, "and nothing waits any more")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "A zone that nobody recovers", guards: "I3", users: [0, 1],
        takes: [.zoneAwaitingRecovery, .zoneGivenUp],
        script: { stage in
          stage.makeList(0)
          stage.settle()
          stage.perform(.backUpServer)
          let lost = stage.makeList(0)
          stage.share(0, lost, with: "user1")
          stage.settle()
          let item = stage.makeItem(1, in: lost)
          stage.settle()
          stage.goOffline(0)
          stage.restore()
          stage.sync(1)
          stage.sync(1)
          stage.age(days: 31)
          stage.sync(1)
          stage.expect("I3", stage.problems(on: 1) == ["zone-not-recovered"], "what an editor has is kept")
          stage.perform(.write(device: 1), seed: 10)
          stage.sync(1)
          stage.expect("I3", stage.isThere("items", item), "sent again, it is there again")
          stage.goOnline(0)
          stage.settle()
        }),
      Scenario(
        name: "A move that a restored server does not take back", guards: "I7", users: [0, 1],
        takes: [.recoveryNoted],
        script: { stage in
          let (old, new) = (stage.makeList(0), stage.makeList(0))
          let item = stage.makeItem(0, in: old)
          for list in [old, new] { stage.share(0, list, with: "user1") }
          stage.settle()
          stage.perform(.backUpServer)
          stage.goOffline(0)
          stage.set(1, "items", item, "list_id", .text(new))
          stage.sync(1)
          for _ in 0..<3 {
            stage.edit(1, "items", item, "title")
            stage.sync(1)
          }
          stage.goOffline(1)
          stage.restore()
          stage.goOnline(0)
          stage.delete(0, "lists", new)
          stage.sync(0)
          stage.sync(0)
          stage.goOnline(1)
          stage.settle()
          stage.expect("I7", stage.isThere("items", item), "the server has it where it was")
          stage.expect("I7", stage.isThere("items", item, on: 1), "so has the device that had moved it")
        }),
      Scenario(
        name: "A user leaves a zone of a restored server", guards: "I3", users: [0, 0, 1],
        takes: [.zoneAwaitingRecovery, .zoneGivenUp],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1", role: "owner")
          stage.settle()
          stage.perform(.backUpServer)
          let item = stage.makeItem(1, in: list)
          stage.settle()
          stage.goOffline(1)
          stage.restore()
          let user = stage.world.userID(of: stage[0])
          guard
            let own = stage.server.tables.first(where: {
              $0.key.table == "members" && $0.value.zone == list && $0.value["user"]?.string == user
            })
          else { return }
          stage.delete(0, "members", own.key.id)
          stage.sync(0)
          stage.sync(0)
          stage.goOnline(1)
          stage.sync(1)
          stage.sync(1)
          stage.expect("I3", stage.awaiting(1) == [list], "the other device may have what the server lost")
          stage.age(days: 2)
          stage.sync(1)
          stage.expect("I3", stage.problems(on: 1) == ["zone-not-recovered"], "it is kept")
          stage.expect("I3", stage.isQuarantined(item, on: 1), "with its records")
          stage.expect("I3", !stage.isQuarantined(own.key.id, on: 1), "but not what only the server gives")
        }),
      Scenario(
        name: "A database put back under its epoch", guards: "I2, I7", users: [0, 1],
        takes: [.historyWentBack, .recovered],
        script: { stage in
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.share(0, list, with: "user1")
          stage.settle()
          let mark = stage.copyDirectory()
          let title = stage.edit(1, "items", item, "title")
          let new = stage.makeItem(1, in: list)
          stage.settle()
          stage.putBack(mark)
          stage.settle()
          stage.expect("I2", stage.value("items", item, "title") == title, "the edit is recovered")
          stage.expect("I2", stage.isThere("items", new), "so is the item")
          stage.expectNoRefusal()
        }),
      writtenBeforeTheProof(1), writtenBeforeTheProof(2), writtenBeforeTheProof(4),
      Scenario(
        name: "Two devices ahead of a database that was put back", guards: "I2, I7", users: [0, 1, 1],
        takes: [.historyWentBack, .proofWanted, .recovered],
        script: { stage in
          let list = stage.makeList(0)
          stage.share(0, list, with: "user1")
          stage.settle()
          let mark = stage.copyDirectory()
          let first = stage.makeItem(0, in: list)
          stage.sync(0)
          stage.sync(2)
          stage.goOffline(2)
          let second = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(0, 1)
          stage.putBack(mark)
          // It has written nothing, so its own number shows nothing.
          stage.goOnline(2)
          stage.sync(2)
          stage.goOnline(0, 1)
          stage.settle()
          for item in [first, second] {
            stage.expect("I2", stage.isThere("items", item), "what either has is recovered")
          }
          stage.expectNoRefusal()
        }),
    ]
  }

  /// - Parameter count: the number of items that an unaware device creates. Three changes were lost.
  private static func writtenBeforeTheProof(_ count: Int) -> Scenario {
    Scenario(
      name: "A database put back and written to, \(count) times, before the proof", guards: "I2, I4, I7",
      users: [0, 1, 1], takes: [.historyWentBack, .recovered, .aheadOfRestore],
      script: { stage in
        let list = stage.makeList(0)
        let items = (0..<2).map { _ in stage.makeItem(0, in: list) }
        stage.share(0, list, with: "user1")
        stage.settle()
        let mark = stage.copyDirectory()
        stage.goOffline(0)
        let first = stage.makeItem(1, in: list)
        stage.sync(1)
        stage.sync(2)
        stage.goOffline(2)
        let second = stage.makeItem(1, in: list)
        let title = stage.edit(1, "items", items[0], "title")
        stage.sync(1)
        stage.goOffline(1)
        stage.putBack(mark)
        stage.goOnline(0)
        let other = stage.edit(0, "items", items[1], "title")
        let new = (0..<count).map { _ in stage.makeItem(0, in: list) }
        stage.sync(0)
        stage.settle()
        stage.expect("I2", stage.value("items", items[0], "title") == title, "the lost edit is recovered")
        stage.expect("I2", stage.value("items", items[1], "title") == other, "the edit since stays")
        for device in 0..<3 {
          let lacking = ([first, second] + new).filter { !stage.isThere("items", $0, on: device) }
          stage.expect("I7", lacking.isEmpty, "device \(device) lacks \(lacking.count) items")
        }
        stage.expectNoRefusal()
      })
  }
}
