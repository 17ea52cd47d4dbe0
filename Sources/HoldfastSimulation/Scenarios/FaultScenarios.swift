/// Disks that fail or are full.
enum FaultScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Disk full on the device", guards: "I2, I3", answerSize: 800, troubles: [.full, .ioError],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(1)
          stage.makePairs(0, in: list, count: 5)
          stage.sync(0)
          var item = ""
          stage.interrupted("device1") {
            item = stage.makeItem(1, in: list)
            stage.goOnline(1)
            stage.sync(1)
          }
          let isHere = stage.isThere("items", item, on: 1)
          stage.pass(400_000)
          stage.settle()
          stage.expect(
            "I2", stage.isThere("items", item) == isHere, "what was written arrived, and nothing else")
          stage.expect("I2", stage.pairs(on: 1) == 5, "the download is whole")
          // A file that could not be deleted is deleted at the next opening.
          stage.kill(1)
          stage.pass(1000)
          stage.expect("I2", stage.pageFiles(of: 1).isEmpty, "no file of a page is left behind")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Disk full on the server", guards: "I2, I3", troubles: [.full, .ioError],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let items = (0..<3).map { _ in stage.makeItem(0, in: list) }
          stage.goOnline(0)
          stage.interrupted("server") { stage.sync(0) }
          stage.pass(400_000)
          stage.expectOnce(items.map { ("items", $0) })
        }),
    ]
  }
}
