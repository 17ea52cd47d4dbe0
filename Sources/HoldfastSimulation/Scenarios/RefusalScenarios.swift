import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Failures that are no refusals, and refusals that must not stop other edits.
enum RefusalScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "One bad item blocks a page or the queue", guards: "I12", takes: [.setRefused, .quarantined],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let before = stage.makeItem(0, in: list)
          // Another program writes a value that the schema forbids; the library itself would throw.
          let text = stage.token()
          stage.write(0, foreign: true) {
            try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text("no id"), .text(text)])
          }
          let after = stage.makeItem(0, in: list)
          let other = stage.makeItem(1, in: list)
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for item in [before, after, other] {
            stage.expect("I12", stage.isThere("items", item), "the items around it are on the server")
            stage.expect("I12", stage.isThere("items", item, on: 0), "and on the device")
          }
          stage.expect("I3", stage.isQuarantined(text, on: 0), "the bad one waits in quarantine")
          stage.expect("I3", stage.problems(on: 0) == ["invalid-id"], "its problem says why")
          let confirmed = stage.server.confirmed
          stage.sync(0)
          stage.expect("I12", stage.server.confirmed == confirmed, "it is not sent for ever")
        }),
      Scenario(
        name: "401 treated as refusal", guards: "I3", takes: [.engineExpired, .engineSignedIn],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0)
          let items = (0..<3).map { _ in stage.makeItem(0, in: list) }
          stage.goOnline(0)
          let dead = TransportAnswer(status: 401, body: Problem(.tokenInvalid).document)
          stage.fate = {
            $0.isRequest && $0.isSync && $0.message.device.number == 0 ? .becomes(dead) : .passes
          }
          stage.sync(0)
          stage.expect("I3", stage[0].view.outbox.count == 3, "all edits still wait")
          for item in items { stage.expect("I3", stage.isThere("items", item, on: 0), "and can be seen") }
          stage.expectNoRefusal()
          // The person signs in again.
          stage.calm()
          stage.pass(10_000)
          stage.expectOnce(items.map { ("items", $0) })
        }),
      Scenario(
        name: "5xx, 429 or time-out treated as refusal", guards: "I3",
        takes: [.engineFailed, .engineRetried],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let items = (0..<3).map { _ in stage.makeItem(0, in: list) }
          stage.goOnline(0)
          for status in [500, 502, 503, 504, 507, 429, 408, 400, 403, 404, 409, 301, 204, 0] {
            let answer = TransportAnswer(
              status: status, retryAfter: status == 429 ? 7 : nil, body: Array("<html>busy</html>".utf8))
            stage.requests(of: 0, status == 0 ? .isLost : .becomes(answer))
            stage.expect("I3", !stage.sync(0), "a sync that was answered \(status) is not done")
            stage.expect("I3", stage[0].view.outbox.count == 3, "after \(status) all edits still wait")
          }
          stage.expectNoRefusal()
          stage.calm()
          stage.pass(300_000)
          stage.expectOnce(items.map { ("items", $0) })
        }),
      Scenario(
        name: "Retry-After", guards: "I3", takes: [.engineRetried],
        script: { stage in
          let note = stage.makeNote(0)
          stage.requests(
            of: 0, .becomes(TransportAnswer(status: 429, retryAfter: 120, body: Problem(.busy).document)))
          stage.sync(0)
          stage.calm()
          stage.pass(119_000)
          stage.expect("I3", !stage.isThere("notes", note), "the device does not come before its time")
          stage.pass(10_000)
          stage.expect("I3", stage.isThere("notes", note), "and comes then")
        }),
      Scenario(
        name: "Unique value taken by another device", guards: "I3, I12", takes: [.uniqueTaken],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let first = stage.makeItem(0, in: list, code: "one")
          let second = stage.makeItem(1, in: list, code: "one")
          let title = stage.value("items", second, "title", on: 1) ?? ""
          let part = stage.makePart(1, of: second)
          let text = stage.value("parts", part, "text", on: 1) ?? ""
          let other = stage.makeItem(1, in: list)
          stage.goOnline(0)
          stage.sync(0)
          stage.pass(100_000)
          stage.goOnline(1)
          stage.interrupted("device1", "server") { stage.sync(1) }
          stage.settle()
          stage.expect(
            "I12", stage.isThere("items", first) && stage.isThere("items", other), "the others are there")
          stage.expect("I12", !stage.isThere("items", second), "the second to take the value is not")
          stage.expect(
            "I3", stage.isQuarantined(title, on: 1) && stage.isQuarantined(text, on: 1),
            "it waits in quarantine, and its child too")
          stage.expect(
            "I3", stage.problems(on: 1) == ["reference-missing", "unique-taken"],
            "their problems say why: \(stage.problems(on: 1))")
          stage.expect("I9", !stage.isThere("parts", part, on: 1), "no orphan is left")
        }),
      Scenario(
        name: "A change set too large for the server", guards: "I3, I12", bodyLimit: 3000,
        takes: [.engineUnacceptableAlone],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0, 1)
          let before = stage.makeItem(0, in: list)
          stage.makePairs(0, in: list, count: 20)
          let after = stage.makeItem(0, in: list)
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0") { stage.sync(0) }
          stage.settle()
          stage.expect(
            "I12", stage.isThere("items", before) && stage.isThere("items", after),
            "those around it are there")
          stage.expect("I3", stage.problems(on: 0) == ["body-too-large"], "it waits in quarantine")
        }),
      Scenario(
        name: "A change set for which the server calls requests malformed", guards: "I3, I12",
        takes: [.engineUnacceptable, .engineProbed, .engineUnacceptableAlone],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0)
          var items = (0..<5).map { _ in stage.makeItem(0, in: list) }
          let bad = stage.makeItem(0, in: list)
          let title = stage.value("items", bad, "title", on: 0) ?? ""
          items += (0..<5).map { _ in stage.makeItem(0, in: list) }
          stage.goOnline(0)
          let malformed = TransportAnswer(status: 400, body: Problem(.malformedJSON).document)
          stage.fate = { passing in
            guard passing.isRequest, passing.isSync, passing.json["change_sets"] != nil,
              String(decoding: passing.body, as: UTF8.self).contains(title)
            else { return .passes }
            stage.world.oracle.refused(device: "device0", code: "malformed-json")
            return .becomes(malformed)
          }
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for item in items {
            stage.expect("I12", stage.isThere("items", item), "the items around it are on the server")
          }
          stage.expect("I3", stage.isQuarantined(title, on: 0), "the one at fault waits in quarantine")
          stage.expect("I3", stage.problems(on: 0) == ["malformed-json"], "with what the server says of it")
        }),
      Scenario(
        name: "A server that calls every request malformed", guards: "I3, I12", takes: [.engineFailed],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0)
          let items = (0..<5).map { _ in stage.makeItem(0, in: list) }
          stage.goOnline(0)
          let malformed = TransportAnswer(status: 400, body: Problem(.invalidRequest).document)
          stage.requests(of: 0, .becomes(malformed))
          for _ in 0..<20 { stage.sync(0) }
          stage.pass(3_600_000)
          stage.expect("I3", stage[0].view.outbox.count == 5, "all edits still wait")
          stage.expectNoRefusal()
          stage.calm()
          stage.pass(300_000)
          stage.expectOnce(items.map { ("items", $0) })
        }),
    ]
  }
}
