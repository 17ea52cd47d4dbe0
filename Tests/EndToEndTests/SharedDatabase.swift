import Foundation
import Holdfast
import HoldfastPostgres
import HoldfastServer
import TemporaryPostgres
import Testing

/// The database of a server: SQLite, or PostgreSQL (`TemporaryPostgres.isChosen`).
enum SharedDatabase {
  case directory(URL)
  case postgres(PostgresLocation)

  /// A new one; what is in files goes into a folder.
  static func make(in folder: URL) throws -> SharedDatabase {
    TemporaryPostgres.isChosen
      ? try makePostgres() : .directory(folder.appendingPathComponent("data"))
  }

  /// A new one in PostgreSQL, whatever the tests are to run on.
  static func makePostgres(on server: TemporaryPostgres = .shared) throws -> SharedDatabase {
    let url = try server.makeDatabase()
    let pooled = server === TemporaryPostgres.shared ? try TemporaryPostgres.pooled(url) : nil
    return .postgres(PostgresLocation(pooled ?? url, direct: pooled == nil ? nil : url))
  }

  /// As the server takes it.
  var location: DatabaseLocation {
    switch self {
    case .directory(let folder): .directory(folder.path)
    case .postgres(let location): .postgres(location)
    }
  }

  /// As `holdfast serve` takes it.
  var options: [String] {
    switch self {
    case .directory(let folder): ["--data", folder.path]
    case .postgres(let location):
      ["--database", location.url] + (location.direct.map { ["--database-direct", $0] } ?? [])
    }
  }

  /// A connection of PostgreSQL, past any pooler.
  func connection() throws -> PostgresConnection {
    guard case .postgres(let location) = self else {
      throw StoreError(.offline, "This is a database of SQLite.")
    }
    return try PostgresConnection(location.direct ?? location.url)
  }

  /// Opens it beside the server.
  func reader() throws -> Reader {
    switch self {
    case .directory(let folder):
      let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      let file = try #require(files.first { $0.hasSuffix(".db") })
      let connection = try SQLiteConnection(path: folder.appendingPathComponent(file).path, access: .readOnly)
      return Reader(shared: self, rowsOf: { try connection.rows($0) })
    case .postgres:
      let connection = try connection()
      try Self.lookLikeSQLite(connection)
      return Reader(shared: self) { sql in
        let rows = try connection.query(
          PostgresStatement("SELECT row_to_json(found)::text FROM (\(sql)) AS found"))
        return try rows.indices.map { try Self.values(ofObject: rows.text($0, 0)) }
      }
    }
  }

  /// Reads the shared database as if it were one of SQLite.
  struct Reader {
    let shared: SharedDatabase
    fileprivate let rowsOf: (String) throws -> [[SQLiteValue]]

    func rows(_ sql: String) throws -> [[SQLiteValue]] { try rowsOf(sql) }

    func value(_ sql: String) throws -> SQLiteValue? { try rows(sql).first?.first }

    /// What it holds of the app's tables; see `Agreement`.
    func contents(_ schema: SyncSchema) throws -> [String: [[SQLiteValue]]] {
      try Agreement.contents(schema: schema, rowsOf: rowsOf)
    }

    /// Everything holds that must always hold.
    func expectSound() throws {
      #expect(try Administration(shared.location).doctor().isEmpty)
      guard case .directory = shared else { return }
      #expect(try rows("PRAGMA integrity_check") == [[.text("ok")]])
      #expect(try rows("PRAGMA foreign_key_check").isEmpty)
    }
  }

  /// Gives a connection views in which tables look as they do in SQLite: with `rev`, and Holdfast's own under other names.
  private static func lookLikeSQLite(_ connection: PostgresConnection) throws {
    let tables = try connection.query(
      """
      SELECT DISTINCT table_name::text FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE'
      """)
    for row in tables.indices {
      let name = tables.text(row, 0)
      try connection.execute(
        """
        CREATE TEMP VIEW "\(name)" AS SELECT t.*, r.rev, r.seq FROM public."\(name)" t
        JOIN holdfast.records r ON r.record_table = '\(name)' AND r.id = t.id AND r.zone = t.zone AND r.state = 0
        """)
    }
    for name in ["members", "conflicts"] {
      try connection.execute(
        """
        CREATE TEMP VIEW \(name) AS SELECT t.*, r.rev, r.seq FROM holdfast.\(name) t
        JOIN holdfast.records r ON r.record_table = '\(name)' AND r.id = t.id AND r.zone = t.zone AND r.state = 0
        """)
    }
    try connection.execute("CREATE TEMP VIEW holdfast_devices AS SELECT * FROM holdfast.devices")
  }

  private static func values(ofObject text: String) throws -> [SQLiteValue] {
    guard case .object(let members) = try JSONValue(parsing: Array(text.utf8)) else { return [] }
    return members.map { member -> SQLiteValue in
      switch member.value {
      case .null: .null
      case .bool(let bool): .integer(bool ? 1 : 0)
      case .integer(let number): .integer(number)
      case .real(let number): .real(number)
      case .string(let text): .text(text)
      case .array, .object: .text(String(decoding: member.value.bytes, as: UTF8.self))
      }
    }
  }
}
