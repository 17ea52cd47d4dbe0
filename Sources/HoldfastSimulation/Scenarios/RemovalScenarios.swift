import Holdfast
import HoldfastCore
import HoldfastSQLite

/// A server whose schema loses a column or a table that apps still write.
enum RemovalScenarios {
  static var all: [Scenario] { removedColumns + removedTables }

  private static var removedColumns: [Scenario] {
    [
      Scenario(
        name: "A column is removed under an app that writes it", guards: "I3, I12", takes: [.quarantined],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          stage.edit(1, "items", item, "note")
          stage.settle()
          stage.goOffline(0)
          let note = stage.edit(0, "items", item, "note")
          let title = stage.edit(0, "items", item, "title")
          let other = stage.makeItem(0, in: list)
          stage.interrupted("server") { stage.install(.withoutNote, on: .server) }
          stage.install(.withoutNote, on: .device(1))
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectWaiting([note], for: "unknown-column")
          stage.expect("I7", stage.value("items", item, "note", on: 0) == nil, "nobody is served the column")
          stage.expect("I12", stage.value("items", item, "title", on: 1) == title, "the rest goes on")
          stage.expect("I12", stage.isThere("items", other, on: 1), "and what was made behind it")
          // Side by side: each sees the columns that both know.
          let titles = [stage.edit(1, "items", item, "title"), stage.edit(0, "items", other, "title")]
          stage.settle()
          stage.expect("I7", stage.value("items", item, "title", on: 0) == titles[0], "from the newer app")
          stage.expect("I7", stage.value("items", other, "title", on: 1) == titles[1], "from the older app")
          stage.install(.withoutNote, on: .device(0))
          stage.settle()
          stage.expectWaiting([note], for: "unknown-column")
        }),
      Scenario(
        name: "An app loses a column with edits of it", guards: "I3", takes: [.quarantined],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let other = stage.makeItem(0, in: list)
          stage.settle()
          stage.install(.withoutNote, on: .server)
          let refused = stage.edit(0, "items", item, "note")
          stage.settle()
          stage.goOffline(0)
          let unsent = stage.edit(0, "items", other, "note")
          stage.interrupted("device0") { stage.install(.withoutNote, on: .device(0)) }
          stage.expect("I3", stage[0].view.outbox.contains { $0.contains(unsent) }, "it waits to be sent")
          stage.goOnline(0)
          stage.interrupted("device0") { stage.sync(0) }
          stage.install(.withoutNote, on: .device(1))
          stage.settle()
          stage.expectWaiting([refused, unsent], for: "unknown-column")
        }),
      Scenario(
        name: "An app loses a column before the server does", guards: "I3",
        script: { stage in
          let (_, item) = stage.makeListWithItem()
          stage.settle()
          stage.goOffline(0)
          let note = stage.edit(0, "items", item, "note")
          stage.interrupted("device0") { stage.install(.withoutNote, on: .device(0)) }
          stage.goOnline(0)
          stage.settle()
          stage.expect("I3", stage.value("items", item, "note", on: 1) == note, "the server takes it yet")
          stage.expectNoRefusal()
          stage.install(.withoutNote, on: .server, .device(1))
        }),
      Scenario(
        name: "A required column is removed", guards: "I7, I12", users: [0, 0, 1],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          stage.settle()
          stage.install(.withoutTitle, on: .server, .device(1))
          let new = stage.newID()
          stage.write(1) { db in
            try db.execute(
              "INSERT INTO items (id, list_id, position) VALUES (?, ?, ?)",
              [.text(new), .text(list), .text(try db.position(after: nil, before: nil))])
          }
          // The older app receives a record without title; the new app receives all of it.
          stage.share(1, list, with: "user1")
          stage.interrupted("device0", "device2") {
            stage.sync(1)
            stage.sync(0)
            stage.sync(2)
          }
          stage.settle()
          for device in [0, 2] {
            for id in [item, new] { stage.expect("I7", stage.isThere("items", id, on: device), "it came") }
          }
          let note = stage.edit(0, "items", new, "note")
          let title = stage.edit(2, "items", new, "title")
          stage.settle()
          stage.expect("I12", stage.value("items", new, "note", on: 1) == note, "the old app goes on")
          stage.expectWaiting([title], for: "unknown-column", on: 2)
          stage.install(.withoutTitle, on: .device(0), .device(2))
        }),
      Scenario(
        name: "A removed column comes back", guards: "I3, I7", users: [0, 0, 0],
        takes: [.quarantined, .unknownSentAgain],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let other = stage.makeItem(0, in: list)
          stage.settle()
          for id in [item, other] { stage.edit(1, "items", id, "note") }
          stage.settle()
          stage.install(.withoutNote, on: .server, .device(1))
          let note = stage.edit(0, "items", item, "note")
          stage.settle()
          stage.expectWaiting([note], for: "unknown-column")
          stage.interrupted("server") { stage.install(.first, on: .server) }
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectNoRefusal()
          stage.expect("I3", stage.value("items", item, "note", on: 2) == note, "it is sent again")
          stage.expect("I7", stage.value("items", other, "note") == nil, "the column begins empty")
          stage.expect("I7", stage.value("items", other, "note", on: 2) == nil, "for apps of before, too")
          stage.install(.first, on: .device(1))
        }),
    ]
  }

  private static var removedTables: [Scenario] {
    [
      Scenario(
        name: "A table is removed under an app that writes it", guards: "I3, I12", takes: [.quarantined],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          let (part, gone) = (stage.makePart(0, of: item), stage.makePart(0, of: item))
          stage.settle()
          stage.goOffline(0)
          let text = stage.edit(0, "parts", part, "text")
          stage.delete(0, "parts", gone)
          let new = stage.makePart(0, of: item)
          let newText = stage.value("parts", new, "text", on: 0) ?? ""
          let other = stage.makeItem(0, in: list)
          stage.interrupted("server") { stage.install(.withoutParts, on: .server) }
          stage.install(.withoutParts, on: .device(1))
          stage.pass(100_000)
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectWaiting([text, gone, newText], for: "unknown-table")
          stage.expect("I12", stage.isThere("items", other, on: 1), "what has nothing to do with it arrived")
          stage.expect("I7", !stage.isThere("parts", part, on: 0), "nobody is served the table")
          let title = stage.edit(1, "items", item, "title")
          stage.settle()
          stage.expect("I7", stage.value("items", item, "title", on: 0) == title, "they go on side by side")
          stage.interrupted("device0") { stage.install(.withoutParts, on: .device(0)) }
          stage.settle()
          stage.expectWaiting([text, gone, newText], for: "unknown-table")
        }),
      Scenario(
        name: "A removed table comes back", guards: "I3, I7, I8", users: [0, 0, 0],
        takes: [.quarantined, .unknownSentAgain],
        script: { stage in
          let (_, item) = stage.makeListWithItem()
          let part = stage.makePart(0, of: item)
          stage.settle()
          stage.install(.withoutParts, on: .server, .device(1))
          let new = stage.makePart(0, of: item)
          stage.settle()
          stage.expect("I3", stage.problems(on: 0) == ["unknown-table"], "the new record waits")
          stage.interrupted("server") { stage.install(.first, on: .server) }
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.install(.first, on: .device(1))
          stage.settle()
          stage.expectNoRefusal()
          for device in 0..<3 {
            stage.expect("I3", stage.isThere("parts", new, on: device), "what waited is sent again")
            stage.expect("I8", !stage.isThere("parts", part, on: device), "the table begins empty")
          }
        }),
      Scenario(
        name: "The table of lists is removed", guards: "I3, I12", users: [0, 0, 1], takes: [.quarantined],
        script: { stage in
          let (list, item) = stage.makeListWithItem()
          stage.share(0, list, with: "user1")
          stage.settle()
          stage.goOffline(0)
          let titles = [stage.edit(0, "lists", list, "title"), stage.edit(0, "items", item, "title")]
          let new = stage.makeList(0)
          let newTitle = stage.value("lists", new, "title", on: 0) ?? ""
          let note = stage.makeNote(0)
          stage.interrupted("server") { stage.install(.withoutLists, on: .server) }
          stage.install(.withoutLists, on: .device(1))
          stage.goOnline(0)
          stage.interrupted("device0", "server") { stage.sync(0) }
          stage.settle()
          stage.expectWaiting(titles + [newTitle], for: "unknown-table")
          stage.expect("I12", stage.isThere("notes", note, on: 1), "what has nothing to do with it arrived")
          let notes = [stage.makeNote(0), stage.makeNote(1)]
          stage.settle()
          stage.expect("I7", stage.isThere("notes", notes[0], on: 1), "from the older app")
          stage.expect("I7", stage.isThere("notes", notes[1], on: 0), "from the newer app")
          stage.interrupted("device0") { stage.install(.withoutLists, on: .device(0)) }
          stage.install(.withoutLists, on: .device(2))
          stage.settle()
          stage.expectWaiting(titles + [newTitle], for: "unknown-table")
        }),
    ]
  }
}
