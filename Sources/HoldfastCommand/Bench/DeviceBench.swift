import Foundation
import Holdfast

/// What a device does by itself, beside raw SQLite doing the same.
enum DeviceBench {
  /// One local write a transaction, durable, beside raw SQLite inserting the same row one a transaction.
  static func localWrite(in folder: URL, schema: SyncSchema, count: Int, runs: Int) async throws
    -> Measurement.Result
  {
    var (ours, raw): ([Double], [Double]) = ([], [])
    for run in 0..<runs {
      let store = try Store(path: folder.appendingPathComponent("local-\(run).db").path, schema: schema)
      let list = try await store.write { db in
        let id = db.newID()
        try db.execute("INSERT INTO lists (id, title) VALUES (?, 'bench')", [.text(id)])
        return id
      }
      ours.append(
        Double(count)
          / (try await Measurement.seconds {
            for number in 0..<count {
              try await store.write { db in
                let position = try db.position(after: nil, before: nil)
                try db.execute(
                  "INSERT INTO items (id, list_id, title, done, position) VALUES (?, ?, ?, 0, ?)",
                  [.text(db.newID()), .text(list), .text("item \(number)"), .text(position)])
              }
            }
          }))
      raw.append(try await RawSQLite.oneRowCommits(in: folder, run: run, count: count))
    }
    return .init(
      name: "local writes, one a transaction", rate: Measurement.median(ours), limitName: "raw SQLite",
      limit: Measurement.median(raw), floor: 0.3)
  }
}

/// The limits: SQLite without Holdfast.
enum RawSQLite {
  private static func open(_ name: String, in folder: URL) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: folder.appendingPathComponent(name).path)
    _ = try connection.row("PRAGMA journal_mode = WAL")
    try connection.execute(
      """
      PRAGMA synchronous = FULL;
      CREATE TABLE items (id TEXT NOT NULL PRIMARY KEY, list_id TEXT NOT NULL, title TEXT NOT NULL,
        done INTEGER NOT NULL, note TEXT, position TEXT NOT NULL);
      CREATE INDEX items_of_list ON items (list_id);
      """)
    return connection
  }

  /// Rows a second, each in a durable transaction of its own.
  static func oneRowCommits(in folder: URL, run: Int, count: Int) async throws -> Double {
    let connection = try open("raw-\(run)-\(UInt32.random(in: 0 ... .max)).db", in: folder)
    let list = StoreEnvironment.system.newID()
    let seconds = try await Measurement.seconds {
      for number in 0..<count {
        try connection.transaction(.immediate) {
          try connection.run(
            "INSERT INTO items (id, list_id, title, done, position) VALUES (?, ?, ?, 0, '')",
            [.text(StoreEnvironment.system.newID()), .text(list), .text("item \(number)")])
        }
      }
    }
    return Double(count) / seconds
  }

  /// Rows a second of `rows` in one transaction.
  static func insert(_ rows: [[SQLiteValue]], in folder: URL, run: Int) async throws -> Double {
    let connection = try open("rows-\(run)-\(UInt32.random(in: 0 ... .max)).db", in: folder)
    let seconds = try await Measurement.seconds {
      try connection.transaction(.immediate) {
        let statement = try connection.statement(
          "INSERT INTO items (id, list_id, title, done, note, position) VALUES (?, ?, ?, ?, ?, ?)")
        for row in rows {
          try statement.bind(row)
          try statement.run()
        }
      }
    }
    return Double(rows.count) / seconds
  }
}
