import Foundation
import Holdfast
import HoldfastSQLiteStore

/// The local throughput of a device, compared with the same work in raw SQLite.
enum DeviceBench {
  /// Local writes per second, one per durable transaction, compared with raw SQLite inserting the same row in the same way.
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

  /// Rows per second, each in a durable transaction of its own.
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

  /// Rows per second when all are inserted in one transaction.
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

  /// A database with the tables, indexes and checks of a server, and its cache.
  private static func server(_ schema: SyncSchema, in folder: URL) throws -> SQLiteConnection {
    let path = folder.appendingPathComponent("server-\(UInt32.random(in: 0 ... .max)).db").path
    let connection = try SQLiteConnection(path: path)
    _ = try connection.row("PRAGMA journal_mode = WAL")
    try connection.execute(
      "PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 4000")
    try connection.execute(schema.serverSQL)
    return connection
  }

  /// Rows a second in durable transactions of so many, into the table of a server: the same rows that it writes.
  static func sets(
    of size: Int, count: Int, with text: String, _ schema: SyncSchema, in folder: URL
  ) async throws -> Double {
    let connection = try server(schema, in: folder)
    let zone = StoreEnvironment.system.newID()
    let insert = try connection.statement(
      "INSERT INTO notes (id, zone, seq, rev, stamps, text) VALUES (?, '\(zone)', ?, 1, '1.019ab5c6d7e80000.64', ?)"
    )
    let ids = (0..<size * count).map { _ in StoreEnvironment.system.newID() }
    let seconds = try await Measurement.seconds {
      for set in 0..<count {
        try connection.transaction(.immediate) {
          for number in set * size..<(set + 1) * size {
            try insert.bind(ids[number], at: 1)
            try insert.bind(Int64(number + 1), at: 2)
            try insert.bind(text, at: 3)
            try insert.run()
          }
        }
      }
    }
    return Double(size * count) / seconds
  }

  /// Rows per second that SQLite deletes by a cascade.
  static func cascade(of count: Int, in folder: URL) async throws -> Double {
    let connection = try open("cascade-\(UInt32.random(in: 0 ... .max)).db", in: folder)
    try connection.execute(
      """
      PRAGMA foreign_keys = ON;
      CREATE TABLE parents (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
      CREATE TABLE children (id TEXT NOT NULL PRIMARY KEY,
        parent TEXT NOT NULL REFERENCES parents ON DELETE CASCADE, title TEXT) WITHOUT ROWID;
      CREATE INDEX children_of_parent ON children (parent);
      INSERT INTO parents VALUES ('one');
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
      INSERT INTO children SELECT lower(hex(randomblob(16))), 'one', 'item ' || i FROM n;
      """)
    let seconds = try await Measurement.seconds { try connection.execute("DELETE FROM parents") }
    return Double(count) / seconds
  }
}
