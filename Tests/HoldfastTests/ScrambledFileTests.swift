import Foundation
import Testing

@testable import Holdfast

@Suite("A device's file in which something was scrambled")
struct ScrambledFileTests {
  /// A file that has something in each of the tables that are Holdfast's own.
  private static func file() async throws -> Fixture {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part(IDs.listChange + "," + IDs.itemChange("Milk", rev: 3)))
    try await fixture.store.write { try $0.update(Item.self, id: IDs.item) { $0.title = "Mine" } }
    try await fixture.refuse(1)
    try await fixture.store.write { try $0.update(List.self, id: IDs.list) { $0.title = "Ours" } }
    try await fixture.store.write { try $0.delete(Item.self, id: IDs.item) }
    try await fixture.answer(
      #""zones":[{"zone":"\#(IDs.other)","role":"owner","from":"","to":"0000000a.2","more":true,"remaining":3,"count":1,"changes":[{"table":"lists","id":"\#(IDs.other)","rev":1,"seq":1,"columns":{"title":"Other"}}]}]"#
    )
    try await fixture.store.writer.perform { local in
      try local.connection.execute(
        """
        INSERT INTO holdfast_recovered (record_table, id, zone, deleted, body) VALUES ('lists', 'x', 'z', 0, CAST('{}' AS BLOB));
        INSERT INTO holdfast_deleted VALUES ('lists', 'y', 'z', 1, 1); INSERT INTO holdfast_awaiting_recovery VALUES ('z', 1, 1);
        INSERT INTO holdfast_recovery_claims VALUES ('z');
        INSERT INTO holdfast_unapplied (first, body) VALUES (1, CAST('[]' AS BLOB));
        INSERT INTO holdfast_resets VALUES ('\(IDs.list)', 1, 1, 5);
        INSERT INTO holdfast_replaced VALUES ('lists', 'x', '', 1, 1);
        INSERT INTO holdfast_cascaded VALUES ('x', 'lists', 'x');
        """)
    }
    try SQLiteConnection(path: fixture.path).execute("INSERT INTO lists (title) VALUES ('From the shell')")
    return fixture
  }

  private static let values = [
    "NULL", "0", "-1", "9223372036854775807", "(-9223372036854775807 - 1)", "4611686018427387904", "1.5e300",
    "''", "'x'", "x'ff00'", "CAST(x'c0ff' AS TEXT)", "'[[[['", "'a' || char(0)", "zeroblob(100000)",
  ]

  /// One of so many pairs of a column and a value is tried in a run, others each time: each column and each value is.
  private static let share = 3

  /// Does what an app does; each may fail, with an error.
  private static func use(_ path: String, _ schema: SyncSchema) async -> Int {
    var failures = 0
    func attempt(_ body: () async throws -> Void) async {
      do { try await body() } catch { failures += 1 }
    }
    guard let store = try? Store(path: path, schema: schema) else { return 1 }
    await attempt { _ = try await store.quarantined() }
    await attempt { _ = try await store.undoable() }
    await attempt { _ = try await store.waitingZones() }
    await attempt { _ = try await store.waitingOperations() }
    await attempt { try await store.write { try $0.insert(List(id: $0.newID(), title: "New")) } }
    for members in [
      "\"zones\":[]", IDs.part(IDs.itemGone, from: "0000000a.2", to: "0000000a.3"),
      "\"lost\":[\"\(IDs.list)\"]",
      "\"zones\":[{\"zone\":\"\(IDs.list)\",\"reset\":true}]",
    ] {
      await attempt {
        // Without a device or a token nobody is signed in.
        guard
          let request = try await store.writer.perform({
            try RequestPreparation(database: $0).prepare(changeSetLimit: 500)
          })
        else { return }
        let state = try await store.writer.perform { try $0.state() }
        let body = Fixture.whole(
          #"{"clock":"0193aaaa00000000","confirmed":\#(state.confirmed),"chain":"\#(state.confirmedChain.text)",\#(members)}"#
        )
        _ = try await store.writer.perform {
          try AnswerApplying(
            database: $0, answer: try SyncAnswer(body: body), body: body, request: request
          ).run()
        }
        _ = try await store.writer.perform {
          try UnacceptableRequest(database: $0).quarantineOldest(
            of: request, problem: Problem(.invalidRequest).document)
        }
      }
    }
    await attempt { _ = try await store.undo() }
    await attempt { for set in try await store.quarantined() { try await store.resend(set.number) } }
    await attempt { _ = try await store.repair() }
    await attempt {
      try await store.writer.perform {
        try SignOut(database: $0).run(removingData: true, discardingUnsent: true)
      }
    }
    await store.close()
    return failures
  }

  @Test(
    "whatever stands in a table of Holdfast's own, opening, writing, syncing and signing out end with a result or an error, never with the app (I12)"
  )
  func scrambled() async throws {
    let fixture = try await Self.file()
    let schema = fixture.store.schema
    let columns = try await fixture.store.writer.perform { local in
      try local.connection.rows(
        """
        SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name LIKE 'holdfast%' ORDER BY 1, 2
        """
      ).map { ($0[0].text ?? "", $0[1].text ?? "") }
    }
    await fixture.store.close()
    #expect(columns.count > 60)
    let copy = fixture.path + "-copy"
    defer {
      for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
    }
    var (runs, changed) = (0, 0)
    let turn = Int.random(in: 0..<Self.share)
    for (number, (table, column)) in columns.enumerated() {
      for (place, value) in Self.values.enumerated() where (number + place) % Self.share == turn {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: copy + suffix) }
        try FileManager.default.copyItem(atPath: fixture.path, toPath: copy)
        let shell = try SQLiteConnection(path: copy)
        try? shell.execute(
          "PRAGMA ignore_check_constraints = ON; UPDATE OR IGNORE \(table) SET \(column) = \(value)")
        changed += shell.totalChanges
        shell.close()
        _ = await Self.use(copy, schema)
        runs += 1
      }
    }
    #expect(runs > columns.count * (Self.values.count / Self.share) && changed > 400 / Self.share)
  }

  @Test("numbers of an answer that no operation, or no count, can have are refused with the member's name")
  func numbers() {
    for (member, value) in [
      ("confirmed", "-1"), ("confirmed", "9223372036854775807"),
      ("refused", #"[{"first":-9223372036854775808,"last":1,"operation":1,"problem":{}}]"#),
      ("refused", #"[{"first":1,"last":1,"operation":-9223372036854775808,"problem":{}}]"#),
      (
        "zones",
        #"[{"zone":"z","role":"owner","from":"","to":"a.1","count":9223372036854775807,"changes":[]}]"#
      ),
      ("zones", #"[{"zone":"z","role":"owner","from":"","to":"a.1","remaining":-5,"changes":[]}]"#),
    ] {
      let confirmed = member == "confirmed" ? "" : #""confirmed":0,"#
      let body = Fixture.whole(
        #"{"clock":"0193aaaa00000000",\#(confirmed)"chain":"0000000000000000","\#(member)":\#(value)}"#)
      #expect(throws: Problem.self, "\(member) \(value)") { try SyncAnswer(body: body) }
    }
  }
}
