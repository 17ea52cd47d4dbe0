import Foundation
import HoldfastTesting
import Testing

/// `ListRecord` and `StudyThing` are made of holdfast.json in this folder, by RecordsPlugin.
@Suite("Record types that the plugin writes")
struct GeneratedTypeTests {
  @Test("every type of column reads back as it was written, on this device and on another (I7)")
  func roundTrip() async throws {
    try await withTestWorld(schema: .everyColumn()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let all = try await phone.store.write { db in
        let list = ListRecord(id: db.newID(), title: "List")
        try db.insert(list)
        let plain = StudyThing(id: db.newID(), listID: list.id)
        let full = StudyThing(
          id: db.newID(), listID: list.id, nextID: plain.id, kind: .value2nd, type: .b, title: "\u{2028}\"é",
          note: "a\nb", amount: 7, level: -3, price: 0.1, weight: 2, class: false,
          seenAt: Date(timeIntervalSince1970: 1_767_225_600.125), madeAt: Date(timeIntervalSince1970: 0),
          tags: ["b", "a", ""], extra: #"{"b":[1,null],"a":"x"}"#, homeURL: "https://example.org/")
        try db.insert([plain, full], at: .last)
        return try db.fetch(StudyThing.self, "SELECT * FROM study_things ORDER BY position")
      }
      #expect(all.map(\.kind) == [.inProgress, .value2nd])
      #expect(all[0].title == "a \"quoted\" \\ \u{2028} line")
      #expect(all[0].madeAt == Date(timeIntervalSince1970: 1_767_225_600.25))
      #expect(all[0].tags == ["x"] && all[0].amount == 1 && all[0].weight == 1.5 && all[0].class)
      #expect(all[0].note == nil && all[0].extra == nil && all[0].type == nil && all[0].seenAt == nil)
      #expect(Set(all[1].tags) == ["b", "a", ""] && all[1].extra == #"{"b":[1,null],"a":"x"}"#)
      #expect(all[1].seenAt == Date(timeIntervalSince1970: 1_767_225_600.125) && all[1].price == 0.1)
      try await world.settle()
      let there = try await tablet.store.read {
        try $0.fetch(StudyThing.self, "SELECT * FROM study_things ORDER BY position")
      }
      #expect(there == all)
    }
  }

  @Test(
    "an app that does not know a value of a list shows the record, and keeps the value when it writes (I3)")
  func newerValue() async throws {
    let older = try SyncSchema.everyColumn()
    let text = String(decoding: older.json.bytes, as: UTF8.self)
    let newer = try SyncSchema(
      json: Array(text.replacing(#""one_of":["a","b"]"#, with: #""one_of":["a","b","c"]"#).utf8))
    #expect(newer != older)
    try await withTestWorld(schema: newer) { world in
      let updated = try await world.device(user: "ann")
      let old = try await world.device(user: "ann", schema: older)
      try await updated.store.write { db in
        let list = ListRecord(id: db.newID(), title: "List")
        try db.insert(list)
        try db.insert(
          [StudyThing(id: db.newID(), listID: list.id, type: .init(rawValue: "c"))], at: .last)
      }
      try await world.settle()
      let seen = try await old.store.read { try $0.fetch(StudyThing.self, "SELECT * FROM study_things") }
      #expect(seen.map(\.type) == [.unknown("c")])
      try await old.store.write { db in
        try db.update(StudyThing.self, id: seen[0].id) { $0.note = "seen" }
      }
      try await world.settle()
      let kept = try await updated.store.read {
        try $0.fetch(StudyThing.self, "SELECT * FROM study_things")
      }
      #expect(kept.map(\.type) == [.unknown("c")] && kept.map(\.note) == ["seen"])
    }
  }

  @Test("the schema in the text is the file's")
  func schema() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "holdfast.json")
    #expect(try SyncSchema.everyColumn() == SyncSchema(json: Array(Data(contentsOf: file))))
  }
}
