import Foundation
import HoldfastSQLite
import Testing

@testable import Holdfast

@Suite("Reading several files as one")
struct UnionReadingTests {
  /// Each form of query that an app may write.
  private static let queries: [(name: String, rows: @Sendable (Database) throws -> [[SQLiteValue]])] = {
    func selection(_ name: String, _ selection: RecordSelection<Item>) -> (
      String, @Sendable (Database) throws -> [[SQLiteValue]]
    ) {
      (
        name,
        { db in
          try db.fetch(selection).map { [.text($0.id), .text($0.title), .integer($0.done ? 1 : 0)] }
            + [[.integer(Int64(try db.count(selection)))], [.text(try db.first(selection)?.id ?? "")]]
        }
      )
    }
    func sql(_ text: SQL) -> (String, @Sendable (Database) throws -> [[SQLiteValue]]) {
      (text.text, { try $0.rows(text).rows })
    }
    let ids = [3, 104, 999].map(SeveralFiles.id)
    return [
      selection("all", Item.order(by: \.id)),
      selection("a condition", Item.where(\.done == false).order(by: \.title)),
      selection("descending, with a limit", Item.order(by: \.price, descending: true).limit(5)),
      selection("a limit with an offset", Item.order(by: \.title).limit(4, offset: 3)),
      selection("null", Item.where(\.price == nil).order(by: \.id)),
      selection("ids", Item.where(.in(\.id, ids)).order(by: \.id)),
      selection(
        "and, or, not", Item.where(\.price > 4 && !(\.done == true) || \.title == "t1.1").order(by: \.id)),
      selection(
        "a condition that reads others",
        Item.where(.sql("list_id IN (SELECT id FROM lists WHERE title = 'Work')")).order(by: \.id)),
      sql("SELECT * FROM items ORDER BY title"),
      sql("SELECT title FROM items WHERE list_id = \(SeveralFiles.id(100)) AND done = \(true) ORDER BY 1"),
      sql("SELECT count(*), sum(price), min(title), max(title) FROM items"),
      sql("SELECT done, count(*) FROM items GROUP BY done HAVING count(*) > 1 ORDER BY done"),
      sql(
        "SELECT l.title, i.title FROM lists AS l JOIN items AS i ON i.list_id = l.id ORDER BY i.price, i.id LIMIT 7"
      ),
      sql(
        "SELECT l.title, count(i.id) FROM lists l LEFT JOIN items i ON i.list_id = l.id GROUP BY l.id ORDER BY 1"
      ),
      sql(
        "SELECT title FROM items WHERE EXISTS (SELECT 1 FROM lists WHERE id = list_id AND title = 'Home') ORDER BY 1"
      ),
      sql("WITH dear AS (SELECT * FROM items WHERE price > 9) SELECT title FROM dear ORDER BY title"),
      sql("SELECT DISTINCT list_id FROM items UNION SELECT id FROM lists ORDER BY 1"),
      sql("SELECT title, row_number() OVER (PARTITION BY list_id ORDER BY title) FROM items ORDER BY 1"),
      sql("SELECT id FROM items WHERE id IN \(list: ids) ORDER BY id"),
      sql("SELECT i.title FROM items i, json_each('[1, 2]') ORDER BY 1 LIMIT 3"),
      (
        "members",
        { db in try db.fetch(Member.where(\.role == .editor).order(by: \.id)).map { [.text($0.name ?? "")] } }
      ),
      ("conflicts", { db in try db.conflicts().map { [.text($0.id)] } }),
      ("find", { db in [[.text(try db.find(Item.self, id: SeveralFiles.id(107))?.title ?? "")]] }),
    ]
  }()

  @Test("each form of query gives over two files what it gives over one that has all the records (I7)")
  func forms() async throws {
    let files = try await SeveralFiles()
    let queue = try files.queue()
    for (name, rows) in Self.queries {
      let found = try SeveralFiles.read(queue, rows)
      #expect(found == (try await files.both.store.read(rows)), "\(name)")
      #expect(!found.isEmpty || name == "conflicts", "\(name)")
    }
    #expect(files.losses.isEmpty)
  }

  @Test("with one file there are no views, and with two nothing can be written")
  func alone() async throws {
    let files = try await SeveralFiles()
    let views: (Database) throws -> Int? = {
      try $0.first(Int.self, "SELECT count(*) FROM temp.sqlite_schema WHERE type = 'view'")
    }
    #expect(try SeveralFiles.read(files.queue([]), views) == 0)
    let queue = try files.queue()
    #expect(try SeveralFiles.read(queue, views) == files.home.store.schema.tables.count)
    for statement in ["DELETE FROM items", "DELETE FROM b.items", "CREATE TEMP TABLE own (a)"] {
      #expect(throws: SQLiteError.self) { try SeveralFiles.read(queue) { try $0.execute(statement) } }
    }
  }

  @Test("plans over two files look up the indexes of each")
  func plans() async throws {
    let files = try await SeveralFiles()
    let queue = try files.queue()
    let list = SeveralFiles.id(100)
    for (name, sql) in [
      ("an id", "SELECT * FROM items WHERE id = \(list)" as SQL),
      ("ids", "SELECT * FROM items WHERE id IN ('a', 'b')"),
      ("a reference", "SELECT * FROM items WHERE list_id = \(list)"),
      ("a selection", try Item.where(\.list_id == list && \.done == false).query()),
      ("one in order", try Item.where(\.list_id == list).order(by: \.title).limit(5).query()),
      ("its count", try Item.where(\.list_id == list).counting()),
      ("a join", "SELECT i.title FROM lists l JOIN items i ON i.list_id = l.id WHERE l.id = \(list)"),
      ("a title", "SELECT * FROM items WHERE title = 'a'"),
    ] {
      let plan = try SeveralFiles.read(queue) { db in
        try db.rows("EXPLAIN QUERY PLAN \(sql)").rows.compactMap { $0[3].text }
      }
      let looks = plan.filter { $0.hasPrefix("SEARCH") && $0.contains("INDEX") }
      #expect(looks.count >= 2, "\(name): \(plan)")
      #expect(!plan.contains { $0.hasPrefix("SCAN main.") || $0.hasPrefix("SCAN b.") }, "\(name): \(plan)")
    }
    // An ordered list is merged from the indexes of the files, and not sorted.
    let ordered = try SeveralFiles.read(queue) { db in
      try db.rows("EXPLAIN QUERY PLAN SELECT * FROM items ORDER BY id LIMIT 5").rows.compactMap { $0[3].text }
    }
    #expect(ordered.count { $0.contains("USING INDEX") } == 2, "\(ordered)")
    #expect(!ordered.contains { $0.contains("TEMP B-TREE") }, "\(ordered)")
  }

  @Test("a file that is not there, or is something else, is left out by name, and the others are read (I12)")
  func unusable() async throws {
    let files = try await SeveralFiles()
    let text = files.home.path + "-text"
    try Data("This is not a database, and never was one.".utf8).write(to: URL(fileURLWithPath: text))
    defer { try? FileManager.default.removeItem(atPath: text) }
    let queue = try files.queue([
      ("gone", files.home.path + "-gone"), ("b", files.other.path), ("text", text),
    ])
    #expect(try SeveralFiles.read(queue) { try $0.count(Item.all) } == 18)
    let losses = files.losses
    #expect(losses.map(\.name) == ["gone", "text"])
    #expect(losses.map(\.reason.code) == [.cannotOpen, .databaseIsBroken])
    #expect(!FileManager.default.fileExists(atPath: files.home.path + "-gone"))
  }

  @Test("a file that is damaged while it is read is left out, and the query reads the others (I12)")
  func damaged() async throws {
    let files = try await SeveralFiles()
    await files.other.store.close()
    let page = try #require(
      try SQLiteConnection(path: files.other.path).value(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'items'")?.integer)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: files.other.path))
    try file.seek(toOffset: UInt64(page - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xEE, count: 4096))
    try file.close()
    let queue = try files.queue()
    #expect(try SeveralFiles.read(queue) { try $0.count(List.all) } == 2)
    #expect(try SeveralFiles.read(queue) { try $0.fetch(Item.all) }.count == 9)
    #expect(files.losses.map(\.reason.code) == [.databaseIsBroken])
    #expect(try SeveralFiles.read(queue) { try $0.count(List.all) } == 1)
  }

  @Test("a file in whose place another one comes is left out (I10)")
  func replaced() async throws {
    let files = try await SeveralFiles()
    let queue = try files.queue()
    #expect(try SeveralFiles.read(queue) { try $0.count(Item.all) } == 18)
    let older = files.other.path + "-older"
    try SQLiteConnection(path: files.other.path).execute("VACUUM INTO '\(older)'")
    #expect(rename(older, files.other.path) == 0)
    #expect(try SeveralFiles.read(queue) { try $0.count(Item.all) } == 9)
    #expect(files.losses.map(\.reason.code) == [.fileReplaced])
  }

  @Test("a file that another process brings to a newer schema is left out, before a query names its columns")
  func newer() async throws {
    let files = try await SeveralFiles()
    let queue = try files.queue()
    #expect(try SeveralFiles.read(queue) { try $0.count(Item.all) } == 18)
    let schema = files.home.store.schema
    let more = TableSchema("more", zone: .user, columns: [ColumnSchema("text", .text)])
    let tables = schema.tables.filter { !["members", "conflicts"].contains($0.name) }
    let newer = try SyncSchema(name: "test", tables: tables + [more], version: 2)
    let store = try Store(path: files.other.path, schema: newer)
    #expect(try SeveralFiles.read(queue) { try $0.count(Item.all) } == 9)
    #expect(files.losses.map(\.reason.code) == [.databaseIsNewer])
    await store.close()
  }

  @Test("the same id in two files is two records, and a lookup finds both (I10)")
  func sameID() async throws {
    let files = try await SeveralFiles()
    let id = SeveralFiles.id(1)
    try await files.other.store.write { db in
      try db.insert(Item(id: id, list_id: SeveralFiles.id(100), title: "theirs"))
    }
    let titles = try SeveralFiles.read(files.queue()) { db in
      try db.fetch(String.self, "SELECT title FROM items WHERE id = \(id) ORDER BY 1")
    }
    #expect(titles == ["t1.0", "theirs"])
  }

  @Test("refused change sets of several files come in the order of their times, with their database")
  func quarantine() async throws {
    let files = try await SeveralFiles()
    for fixture in [files.other, files.home] {
      try await fixture.signIn()
      try await fixture.refuse(1)
    }
    let sets = try SeveralFiles.read(files.queue()) { try QuarantinedChangeSet.all(in: $0) }
    #expect(sets.compactMap(\.database).sorted() == ["b", "home"])
    #expect(sets.map(\.number) == [1, 1])
    #expect(try await files.home.store.quarantined().map(\.database) == [nil])
  }

  @Test("a file whose index is damaged is left out, and the query reads the others (I12)")
  func damagedIndex() async throws {
    let files = try await SeveralFiles()
    await files.other.store.close()
    let path = files.other.path
    let first = try SQLiteConnection(path: path)
    let index = try #require(
      try first.row(
        """
        SELECT name, rootpage, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'items' AND sql LIKE '%list_id%'
        """))
    // A row goes while SQLite knows nothing of the index, nor of the triggers.
    try first.execute("PRAGMA writable_schema = ON")
    try first.run("DELETE FROM sqlite_schema WHERE name = ?", [index[0]])
    first.close()
    let second = try SQLiteConnection(path: path)
    try second.withoutTriggers {
      _ = try second.run("DELETE FROM items WHERE id = ?", [.text(SeveralFiles.id(105))])
    }
    try second.execute("PRAGMA writable_schema = ON")
    try second.run(
      "INSERT INTO sqlite_schema VALUES ('index', ?, 'items', ?, ?)", [index[0], index[1], index[2]])
    second.close()
    let queue = try files.queue()
    let lists = [0, 100].map(SeveralFiles.id)
    let items = try SeveralFiles.read(queue) { try $0.fetch(Item.where(.in(\.list_id, lists))) }
    #expect(items.count == 9)
    #expect(files.losses.map(\.name) == ["b"])
  }

  @Test("damage in home's own file blames no other one")
  func damagedHome() async throws {
    let files = try await SeveralFiles()
    let queue = try files.queue()
    #expect(throws: StoreError.self) {
      try SeveralFiles.read(queue) { _ in throw SQLiteError(.corrupt, "as of home", statement: nil) }
    }
    #expect(files.losses.isEmpty)
    #expect(try SeveralFiles.read(queue) { try $0.count(List.all) } == 2)
  }
}
