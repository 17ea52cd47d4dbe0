import HoldfastCore
import HoldfastServer

/// Downloads, complete and in pages.
enum DownloadScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Half-written first download trusted", guards: "I2, I6", answerSize: 800,
        takes: [.pageStaged, .pagesApplied],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          stage.makePairs(0, in: list, count: 9)
          stage.sync(0)
          // The oracle checks that the group is there completely or not at all, at any time.
          stage.interrupted("device1") {
            stage.goOnline(1)
            stage.sync(1)
          }
          stage.settle()
          stage.expect("I6", stage.pairs(on: 1) == 9, "the download is whole")
        }),
      Scenario(
        name: "A page without its file", guards: "I2, I4", answerSize: 800,
        takes: [.pageMissing, .resetDone],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          stage.makePairs(0, in: list, count: 9)
          stage.sync(0)
          stage.downloadTwoPages(1)
          stage.expect("I6", stage.pairs(on: 1) == 0, "what is staged is not shown")
          for path in stage.pageFiles(of: 1) { stage.world.disk.unlink(path, durably: true) }
          stage.interrupted("device1") { stage.sync(1) }
          stage.settle()
          stage.expect("I4", stage.pairs(on: 1) == 9, "the zone came again")
          stage.expect("I2", stage.pageFiles(of: 1).isEmpty, "no file of a page is left behind")
        }),
      Scenario(
        name: "Cursor saved before rows", guards: "I4",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(1)
          let items = (0..<3).map { _ in stage.makeItem(0, in: list) }
          stage.sync(0)
          stage.pass(100_000)
          stage.goOnline(1)
          stage.interrupted("device1") { stage.sync(1) }
          // A device with the token has the rows.
          let count = items.count { stage.isThere("items", $0, on: 1) }
          let isCurrent = stage[1].view.zones[list]?.token == stage[0].view.zones[list]?.token
          stage.expect(
            "I4", isCurrent ? count == 3 : count == 0, "with the token come the rows, not \(count) of 3")
          stage.settle()
          for item in items { stage.expect("I4", stage.isThere("items", item, on: 1), "all items are there") }
        }),
      Scenario(
        name: "Late commit below the cursor", guards: "I4", users: [0, 0, 0],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          // One device's edits are in transit for a long time, while another writes and a third reads continuously.
          stage.requests(of: 1, .isHeld)
          let late = stage.makeItem(1, in: list)
          stage.begin(1)
          stage.pass(500)
          for _ in 0..<5 {
            stage.makeItem(0, in: list)
            stage.sync(0)
            stage.sync(2)
          }
          let last = stage.makeItem(0, in: list)
          stage.requests(of: 0, .isHeld)
          stage.begin(0)
          stage.pass(500)
          stage.calm()
          // Both arrive at the same moment, and share a transaction of the server.
          stage.interrupted("server") { stage.release() }
          stage.sync(2)
          stage.settle()
          for item in [late, last] {
            stage.expect("I4", stage.isThere("items", item, on: 2), "the reader has what came late")
          }
          stage.expectOnce([("items", late), ("items", last)])
        }),
      equalStamps(pageSize: 160), equalStamps(pageSize: 700),
      Scenario(
        name: "Rows appear or vanish while paging", guards: "I5, I7", answerSize: 700, takes: [.pagesApplied],
        script: { stage in
          stage.goOffline(1)
          let list = stage.makeList(0)
          let items = (0..<10).map { _ in stage.makeItem(0, in: list) }
          stage.sync(0)
          stage.downloadTwoPages(1)
          // Of the records already downloaded and of those still to come, some are changed, some deleted, and some are new.
          for item in [items[0], items[9]] { stage.edit(0, "items", item, "title") }
          for item in [items[1], items[8]] { stage.delete(0, "items", item) }
          stage.makeItem(0, in: list)
          stage.sync(0)
          stage.interrupted("device1") { stage.sync(1) }
          stage.settle()
          stage.expect(
            "I5", stage.order(of: list, on: 1) == stage.order(of: list), "it has what the server has")
          stage.expect("I5", stage.order(of: list).count == 9, "those are nine items")
        }),
      Scenario(
        name: "Reset loop", guards: "I3", takes: [.fenced, .resetBegun, .resetDone],
        script: { stage in
          let list = stage.makeList(0)
          let items = (0..<4).map { _ in stage.makeItem(0, in: list) }
          stage.settle()
          stage.goOffline(1)
          let title = stage.edit(1, "items", items[0], "title")
          let new = stage.makeItem(1, in: list)
          stage.delete(1, "items", items[3])
          stage.delete(0, "items", items[1])
          stage.sync(0)
          stage.pass(100_000)
          // The deletion is purged, so a device that has not acked it must resync.
          stage.age(days: 100)
          stage.sync(0)
          Operator(world: stage.world).purge(Retention())
          var resets = 0
          stage.fate = {
            if !$0.isRequest, String(decoding: $0.body, as: UTF8.self).contains("\"reset\":true") {
              resets += 1
            }
            return .passes
          }
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.sync(1)
          stage.expect(
            "I3", stage.interruption != nil || resets == 1, "one reset is enough; there were \(resets)")
          stage.settle()
          stage.expect("I3", stage.value("items", items[0], "title") == title, "the unsent edit arrived")
          stage.expect("I3", stage.isThere("items", new), "and the unsent item")
          stage.expect("I8", !stage.isThere("items", items[3]), "and the unsent deletion")
          stage.expect(
            "I8", !stage.isThere("items", items[1], on: 1), "what was purged is gone from the device")
          stage.expectNoRefusal()
        }),
    ]
  }
}

extension DownloadScenarios {
  /// Page boundaries after each record that was written at the same moment, in more pages than answers that bring little are followed.
  private static func equalStamps(pageSize: Int) -> Scenario {
    Scenario(
      name: "Equal stamps across a page edge, pages of \(pageSize) bytes", guards: "I4, I5, I7",
      answerSize: pageSize,
      takes: [.pageStaged],
      script: { stage in
        stage.goOffline(1)
        let list = stage.makeList(0)
        stage.makePairs(0, in: list, count: 44)
        stage.sync(0)
        stage.goOnline(1)
        stage.sync(1)
        stage.expect("I4", stage.pairs(on: 1) == 44, "nothing is skipped, and one sync brings all")
      })
  }
}
