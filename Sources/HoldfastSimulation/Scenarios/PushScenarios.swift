import HoldfastCore

/// Event streams that break, fall silent or reconnect all at once. In all scenarios the next poll is more than ten minutes away.
enum PushScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Push", guards: "I4, I7", users: [0, 0, 1], hasStreams: true,
        takes: [.streamOpened, .streamMoved, .engineMoved],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.pass(20_000)
          let item = stage.makeItem(0, in: list)
          stage.pass(1500)
          stage.expect("I7", stage.isThere("items", item, on: 1), "the other device was told")
          stage.share(0, list, with: stage[2].user)
          stage.pass(1500)
          stage.expect("I7", stage.isThere("items", item, on: 2), "the new member was told")
          let title = stage.edit(1, "items", item, "title")
          stage.pass(1500)
          for device in [0, 2] {
            stage.expect(
              "I7", stage.value("items", item, "title", on: device) == title,
              "device \(device) was told of the zone")
          }
          let other = stage.makeNote(2)
          stage.pass(1500)
          stage.expect("I10", !stage.isThere("notes", other, on: 0), "nobody is told of a private zone")
        }),
      Scenario(
        name: "Push stream silently dead", guards: "I7", hasStreams: true,
        takes: [.streamSilent, .streamResumed, .streamMoved],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.pass(100_000)
          stage.killStream(of: 1)
          let item = stage.makeItem(0, in: list)
          stage.pass(10_000)
          stage.expect("I7", !stage.isThere("items", item, on: 1), "nothing came through the dead stream")
          // Two heartbeats after the last one received, and the time to reconnect.
          stage.pass(45_000)
          stage.expect("I7", stage.isThere("items", item, on: 1), "the device has noticed, and asked")
        }),
      Scenario(
        name: "Push stream ends with the server", guards: "I4, I7", hasStreams: true,
        takes: [.streamEnded, .streamOpened],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.pass(100_000)
          stage.goOffline(1)
          let item = stage.makeItem(0, in: list)
          stage.pass(5000)
          // Its counter restarts, and may reach the same numbers.
          stage.stopServer()
          stage.pass(1000)
          stage.world.startServer()
          stage.goOnline(1)
          stage.pass(300_000)
          stage.expect(
            "I7", stage.isThere("items", item, on: 1), "the device was told that it has missed something")
        }),
      Scenario(
        name: "Push on a device with two processes", guards: "I1, I7", hasStreams: true,
        takes: [.streamReplaced],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.perform(.secondProcess(device: 1))
          stage.pass(20_000)
          let before = stage.world.streamCount
          stage.pass(1_800_000)
          let streams = stage.world.streamCount - before
          stage.expect(
            "I12", streams <= 24,
            "the two do not end each other's streams all the time; \(streams) were opened")
          let item = stage.makeItem(0, in: list)
          stage.pass(1500)
          stage.expect("I7", stage.isThere("items", item, on: 1), "one of the two was told")
        }),
      Scenario(
        name: "Thundering herd of streams", guards: "-", users: Array(0..<24), hasStreams: true,
        takes: [.streamEnded],
        script: { stage in
          stage.settle()
          stage.pass(100_000)
          stage.stopServer()
          stage.pass(600_000)
          stage.world.startServer()
          let first = stage.world.streamCount
          var arrivals: [Int64: Int] = [:]
          stage.fate = { [unowned stage] in
            if $0.isRequest { arrivals[stage.world.now / 1000, default: 0] += 1 }
            return .passes
          }
          for _ in 0..<330 {
            let before = stage.world.streamCount
            stage.pass(1000)
            arrivals[stage.world.now / 1000, default: 0] += stage.world.streamCount - before
          }
          let (most, streams) = (arrivals.values.max() ?? 0, stage.world.streamCount - first)
          stage.expect(
            "I7", stage.world.server.streams.count == 24, "all are back; \(streams) streams were opened")
          // A stream and one or two syncs of each; 24 over 300 seconds.
          stage.expect("I11", most <= 6, "no more than 6 requests come in one second; \(most) came")
        }),
    ]
  }
}
