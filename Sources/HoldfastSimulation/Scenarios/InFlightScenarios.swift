import Holdfast
import HoldfastCore
import HoldfastSQLite

/// Edits made while others are in flight.
enum InFlightScenarios {
  static var all: [Scenario] {
    [
      Scenario(
        name: "Edit while its push is in flight", guards: "I3", takes: [.rebased],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          stage.goOffline(1)
          stage.edit(0, "lists", list, "title")
          stage.answers(to: 0, .isHeld)
          stage.begin(0)
          stage.pass(500)
          let newer = stage.edit(0, "lists", list, "title")
          stage.goOffline(0)
          stage.calm()
          stage.interrupted("device0") { stage.release() }
          stage.expect("I3", stage.value("lists", list, "title", on: 0) == newer, "the newer text stays")
          stage.expect(
            "I3", stage[0].view.outbox.last?.contains(newer) == true,
            "the newer edit still waits in the outbox")
          stage.settle()
          stage.expect("I3", stage.value("lists", list, "title") == newer, "the server has the newer text")
          stage.expect("I3", stage.losers.isEmpty, "one's own edits are no conflict")
        }),
      Scenario(
        name: "Creates that are answered as they were sent", guards: "I3, I4",
        takes: [.partAsSent, .takenAsSent, .rebased],
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          let first = stage.makeItem(0, in: list)
          stage.interrupted("device0", "server") { stage.sync(0) }
          // Another device's record before it, which the device must not miss.
          stage.goOffline(0)
          let own = stage.makeItem(0, in: list)
          let other = stage.makeItem(1, in: list)
          stage.sync(1)
          stage.goOnline(0)
          stage.sync(0)
          // Edits that are made before the answer comes.
          stage.answers(to: 0, .isHeld)
          let (edited, deleted) = (stage.makeItem(0, in: list), stage.makeItem(0, in: list))
          stage.begin(0)
          stage.pass(500)
          let title = stage.edit(0, "items", edited, "title")
          stage.delete(0, "items", deleted)
          stage.calm()
          stage.interrupted("device0") { stage.release() }
          stage.settle()
          stage.expect("I4", stage.value("items", other, "title", on: 0) != nil, "the other's record is here")
          stage.expect("I3", stage.value("items", edited, "title", on: 1) == title, "the edit arrived")
          stage.expect("I3", !stage.isThere("items", deleted), "so did the deletion")
          for item in [first, own, edited] {
            stage.expect("I3", stage.value("items", item, "title", on: 1) != nil, "each create arrived")
          }
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Create merged into update", guards: "I3",
        script: { stage in
          let list = stage.makeList(0)
          stage.settle()
          for isHeard in [true, false] {
            stage.goOffline(0, 1)
            let item = stage.makeItem(0, in: list)
            stage.goOnline(0)
            stage.answers(to: 0, isHeard ? .isHeld : .isLost)
            stage.begin(0)
            stage.pass(500)
            stage.expect("I3", stage.isThere("items", item), "the create is on the server")
            let title = stage.edit(0, "items", item, "title")
            let note = stage.edit(0, "items", item, "note")
            stage.settle()
            stage.expect("I3", stage.value("items", item, "title") == title, "the title is the later one")
            stage.expect("I3", stage.value("items", item, "note") == note, "the note is there")
            stage.expect("I1", stage.rev("items", item) == 3, "one create and two updates arrived")
          }
          stage.expectNoRefusal()
        }),
      Scenario(
        name: "Delete, then create again, same id", guards: "I1, I8", takes: [.restored],
        script: { stage in
          let notes = (0..<3).map { _ in stage.makeNote(0) }
          stage.settle()
          stage.goOffline(1)
          // In one transaction; in two of one request; and in two requests, the first answer of which is lost.
          let texts = (0..<3).map { _ in stage.token() }
          stage.write(0) {
            try $0.execute("DELETE FROM notes WHERE id = ?", [.text(notes[0])])
            try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text(notes[0]), .text(texts[0])])
          }
          stage.goOffline(0)
          stage.delete(0, "notes", notes[1])
          stage.write(0) {
            try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text(notes[1]), .text(texts[1])])
          }
          stage.pass(20_000)
          stage.goOnline(0)
          stage.delete(0, "notes", notes[2])
          stage.answers(to: 0, .isLost)
          stage.sync(0)
          stage.write(0) {
            try $0.execute("INSERT INTO notes (id, text) VALUES (?, ?)", [.text(notes[2]), .text(texts[2])])
          }
          stage.calm()
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          for (note, text) in zip(notes, texts) {
            stage.expect("I1", stage.value("notes", note, "text") == text, "the note is back with \(text)")
            stage.expect("I8", stage.value("notes", note, "text", on: 1) == text, "also on the other device")
          }
          stage.expectNoRefusal()
        }),
    ]
  }
}
