import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Operations that are sent more than once.
enum ExactlyOnceScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Duplicate create", guards: "I1", takes: [.replaySkipped],
        script: { stage in
          stage.answers(to: 0, .isLost)
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.sync(0)
          stage.expect(
            "I1", stage.isThere("items", item), "the server has the item, though the answer is lost")
          // Days later, after both sides were restarted.
          stage.goOffline(0, 1)
          stage.kill(0)
          stage.stopServer()
          stage.pass(5 * 86_400_000)
          stage.settle()
          stage.expectOnce([("lists", list), ("items", item)])
        }),
      Scenario(
        name: "Duplicate create, at every step", guards: "I1, I2",
        script: { stage in
          stage.goOffline(0, 1)
          let list = stage.makeList(0)
          let item = stage.makeItem(0, in: list)
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectOnce([("lists", list), ("items", item)])
        }),
      Scenario(
        name: "Key derived from the batch", guards: "I1", bodyLimit: 1200,
        takes: [.replaySkipped, .engineUnacceptable],
        script: { stage in
          stage.goOffline(0, 1)
          let list = stage.makeList(0)
          stage.goOnline(0)
          stage.requests(of: 0, .isHeld)
          stage.begin(0)
          stage.pass(200)
          // The second request has the first one's change set and others. The server's limit decides how they are grouped.
          let items = (0..<8).map { _ in stage.makeItem(0, in: list) }
          stage.edit(0, "lists", list, "title")
          for _ in 0..<2 {
            stage.fate = {
              if case .answer(_, let answer) = $0, answer.status == 200 { .isLost } else { .passes }
            }
            stage.sync(0)
            stage.edit(0, "lists", list, "title")
          }
          stage.calm()
          stage.sync(0)
          stage.settle()
          stage.expectOnce(items.map { ("items", $0) })
          stage.expect("I1", stage.rev("lists", list) == 4, "the list was made once and edited three times")
        }),
      Scenario(
        name: "A request comes twice", guards: "I1", takes: [.replaySkipped],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.requests(of: 0, .isDoubled)
          let item = stage.makeItem(0, in: list)
          let code = stage.edit(0, "items", item, "note")
          stage.sync(0)
          // Again immediately, before the device has acknowledged the answer; and again hours later.
          stage.release()
          stage.sync(0)
          stage.calm()
          let last = stage.edit(0, "items", item, "note")
          stage.sync(0)
          stage.pass(7_200_000)
          stage.settle()
          stage.expect(
            "I1", stage.value("items", item, "note") == last, "the note is \(last), not \(code) again")
          stage.expect("I1", stage.rev("items", item) == 3, "the item has three revisions")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Two processes on one local database", guards: "I1",
        script: { stage in
          stage.goOffline(0, 1)
          let list = stage.makeList(0)
          stage.perform(.secondProcess(device: 0))
          stage.expect("I1", stage[0].apps.count == 2, "two processes have the database open")
          let items = (0..<4).map { _ in stage.makeItem(0, in: list) }
          let isWritten = stage.write(0, process: 1) {
            try $0.execute("UPDATE items SET done = 1 WHERE id = ?", [.text(items[0])])
          }
          stage.expect("I1", isWritten, "the second process writes too")
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0") {
            // Both send before either has an answer.
            stage.begin(0)
            stage.begin(0, process: 1)
            stage.pass(2000)
          }
          stage.settle()
          stage.expectOnce(items.dropFirst().map { ("items", $0) })
          stage.expect("I1", stage.rev("items", items[0]) == 2, "the item was made and edited once each")
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Killed by the system in the background", guards: "I1, I3",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          var item = ""
          stage.interrupted("device0") {
            item = stage.makeItem(0, in: list)
            stage.pass(1000)
          }
          // No one requests a sync: the next launch resumes what was in flight.
          stage.pass(10_000)
          let isHere = stage.isThere("items", item, on: 0)
          stage.expect(
            "I3", stage.isThere("items", item) == isHere,
            "what is on the device has reached the server by itself")
          if isHere { stage.expectOnce([("items", item)]) }
        }),
      Scenario(
        name: "Killed in a commit, and without power later", guards: "I2",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          var item = ""
          stage.interrupted("device0") { item = stage.makeItem(0, in: list) }
          // The killed app runs again, shows its data, and commits nothing.
          stage.pass(10_000)
          let isHere = stage.isThere("items", item, on: 0)
          stage.perform(.trouble(.crash, .device(0), afterSteps: 0))
          stage.pass(600_000)
          stage.expect(
            "I2", stage.isThere("items", item, on: 0) == isHere, "the device has what it has shown")
          stage.settle()
        }),
      Scenario(
        name: "Upload never retried", guards: "I7", takes: [.engineUnreachable, .engineRetried],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          // One device's connection is refused, the other's dies silently.
          stage.fate = { $0.message.device.number == 1 ? .isLost : .passes }
          stage.goOffline(0)
          let items = [stage.makeItem(0, in: list), stage.makeItem(1, in: list)]
          stage.pass(3_600_000)
          for (device, item) in items.enumerated() {
            stage.expect("I7", !stage.isThere("items", item), "device \(device) can't reach the server")
          }
          stage.goOnline(0)
          stage.calm()
          // At most the longest wait plus the transit time.
          stage.pass(332_000)
          stage.expectOnce(items.map { ("items", $0) })
        }),
      Scenario(
        name: "Thundering herd", guards: "-", users: Array(0..<24), takes: [.engineRetried],
        script: { stage in
          stage.stopServer()
          for device in 0..<24 { stage.makeNote(device) }
          stage.pass(1_800_000)
          var arrivals: [Int64: Int] = [:]
          stage.fate = { [unowned stage] in
            if $0.isRequest { arrivals[stage.world.now / 1000, default: 0] += 1 }
            return .passes
          }
          stage.world.startServer()
          stage.pass(330_000)
          let most = arrivals.values.max() ?? 0
          stage.expect("I7", stage.world.devices.allSatisfy { $0.view.outbox.isEmpty }, "all have sent")
          // Each sends once, without further requests; 24 over 300 seconds.
          stage.expect("I11", most <= 4, "no more than 4 requests come in one second; \(most) came")
        }),
    ]
  }
}
