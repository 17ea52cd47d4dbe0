import CSQLite
import HoldfastCore

/// Reads an SQLite file without any code of the product.
///
/// The connection stays open until `close()`. Not thread safe: the simulation has one thread.
final class RawDatabase {
  /// The reason why a file could not be read.
  struct Failure: Error, CustomStringConvertible {
    let path: String
    let text: String

    var description: String { "\(path): \(text)" }
  }

  let path: String
  private var handle: OpaquePointer?
  private let isBorrowed: Bool
  private var statements: TextMap<OpaquePointer> = [:]
  /// The last view, with SQLite's data version, which changes with each commit of another connection.
  private var seen: (version: Int64, view: Any)?

  /// Opens an existing file.
  init(path: String) throws {
    self.path = path
    isBorrowed = false
    let result = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    guard result == SQLITE_OK else {
      let text = message
      sqlite3_close_v2(handle)
      handle = nil
      throw Failure(path: path, text: text)
    }
  }

  /// Reads over an open connection, inside its transaction.
  init(inside connection: OpaquePointer) { (path, handle, isBorrowed) = ("", connection, true) }

  deinit { close() }

  /// Closes the connection, which is then unusable.
  func close() {
    for statement in statements.values { sqlite3_finalize(statement) }
    statements = [:]
    if !isBorrowed { sqlite3_close_v2(handle) }
    handle = nil
  }

  /// Passes every row of a query to `body`: its column names, and the statement to read it from.
  func each(_ sql: String, _ body: (_ names: [String], _ row: OpaquePointer) -> Void) throws {
    let statement = try prepared(sql)
    defer { sqlite3_reset(statement) }
    var names: [String] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        if names.isEmpty { names = Self.names(statement) }
        body(names, statement)
      case SQLITE_DONE: return
      default: throw Failure(path: path, text: message)
      }
    }
  }

  /// All rows of a query.
  func rows(_ sql: String) throws -> [[Cell]] {
    var rows: [[Cell]] = []
    try each(sql) { names, row in rows.append(names.indices.map { Self.cell(row, $0) }) }
    return rows
  }

  /// Runs several queries in one snapshot. Returns the previous view if nothing was committed since.
  func atOnce<View>(_ read: () throws -> View) throws -> View {
    _ = try rows("BEGIN")
    defer { _ = try? rows("COMMIT") }
    let version = try rows("PRAGMA data_version").first?.first?.number ?? 0
    if let seen, seen.version == version, let view = seen.view as? View { return view }
    let view = try read()
    seen = (version, view)
    return view
  }

  /// The faults that SQLite finds in the file; empty if it is sound.
  func soundness() throws -> [String] {
    let integrity = try rows("PRAGMA integrity_check").compactMap { $0.first?.string }.filter { $0 != "ok" }
    let orphans = try rows("PRAGMA foreign_key_check").map { row in
      "foreign key: " + row.map { "\($0)" }.joined(separator: " ")
    }
    return integrity + orphans
  }

  /// The zones of a server whose stored counts differ from their records.
  func wrongCounts(_ tables: [String]) throws -> [String] {
    let sizes = try tables.map { table in
      let columns = try rows("SELECT name, type FROM pragma_table_info('\(table)')").map {
        (name: $0[0].string ?? "", type: $0[1].string ?? "")
      }
      let size = columns.filter { column in
        !["zone", "seq", "rev", "stamps"].contains(column.name) && !column.name.hasPrefix("holdfast_removed_")
      }.map {
        $0.type == "TEXT"
          ? "ifnull(length(CAST(\"\($0.name)\" AS BLOB)), 0)" : "8 * (\"\($0.name)\" IS NOT NULL)"
      }
      return
        "SELECT zone, \(table == "conflicts" ? 0 : 1) AS held, \(size.joined(separator: " + ")) AS size FROM \"\(table)\""
    }
    return try rows(
      """
      SELECT z.zone FROM holdfast_zones z LEFT JOIN (\(sizes.joined(separator: " UNION ALL "))) h ON h.zone = z.zone
      GROUP BY z.zone HAVING max(z.records) <> total(h.held) OR max(z.bytes) <> total(h.size)
      """
    ).map { "the zone \($0[0].string ?? "") does not say what it holds" }
  }

  /// The value of a column of the current row.
  static func cell(_ statement: OpaquePointer, _ column: Int) -> Cell {
    let column = Int32(column)
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, column))
    case SQLITE_TEXT: return .text(String(cString: sqlite3_column_text(statement, column)))
    case SQLITE_BLOB:
      let count = Int(sqlite3_column_bytes(statement, column))
      return .blob(Array(UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, column), count: count)))
    default: return .null
    }
  }

  private var message: String { handle.map { String(cString: sqlite3_errmsg($0)) } ?? "closed" }

  private func prepared(_ sql: String) throws -> OpaquePointer {
    if let known = statements[sql] { return known }
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      throw Failure(path: path, text: "\(message) in \(sql)")
    }
    statements[sql] = statement
    return statement
  }

  private static func names(_ statement: OpaquePointer) -> [String] {
    (0..<sqlite3_column_count(statement)).map { String(cString: sqlite3_column_name(statement, $0)) }
  }
}
