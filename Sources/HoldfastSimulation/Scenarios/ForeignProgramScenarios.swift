import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Writes of other programs to a device's file, with their default settings.
enum ForeignProgramScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Another program replaces a record", guards: "I3", takes: [.setRefused, .quarantined],
        script: { stage in
          let (note, list) = (stage.newID(), stage.makeList(0))
          let was = stage.token()
          stage.write(0) {
            try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text(note), .text(was)])
          }
          let item = stage.makeItem(0, in: list)
          stage.settle()
          stage.goOffline(0)
          let (text, title) = (stage.token(), stage.token())
          stage.write(0, foreign: true) {
            try $0.execute(
              "INSERT OR REPLACE INTO notes (id, text) VALUES (?, ?)",
              [.text(note), .text(text + String(repeating: "x", count: 20_000))])
          }
          stage.write(0, foreign: true) {
            try $0.execute("REPLACE INTO lists (id, title) VALUES (?, ?)", [.text(list), .text(title)])
          }
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expect("I3", stage.isQuarantined(text, on: 0), "what the server refused waits in quarantine")
          let here = stage[0].view.tables[RecordKey(table: "notes", id: note)]
          stage.expect("I3", here?["text"]?.string == was, "the confirmed record is back, with what it had")
          stage.expect("I3", stage.isThere("items", item), "what is below a replaced record stays")
          let there = stage.server.tables[RecordKey(table: "lists", id: list)]
          stage.expect("I3", there?["title"]?.string == title, "and its new values arrive")
        }),
      Scenario(
        name: "Another program leaves what can't be sent", guards: "I3, I12", takes: [.quarantined],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(0)
          let before = stage.makeItem(0, in: list)
          let (card, text) = (stage.newID(), stage.token())
          let depth = String(repeating: "[", count: 60)
          // The device's own reason for the refusal.
          stage.world.oracle.refused(device: "device0", code: "invalid-value")
          stage.write(0, foreign: true) {
            try $0.execute(
              "INSERT INTO cards (id, list_id, tags) VALUES (?, ?, ?)",
              [.text(card), .text(list), .text("\(depth)\"\(text)\"\(String(repeating: "]", count: 60))")])
          }
          let after = stage.makeItem(0, in: list)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for item in [before, after] {
            stage.expect("I12", stage.isThere("items", item), "the items around it are on the server")
          }
          stage.expect("I3", stage.isQuarantined(text, on: 0), "it waits in quarantine")
          stage.expect("I3", stage.problems(on: 0) == ["invalid-value"], "its problem names the column")
        }),
    ]
  }
}
