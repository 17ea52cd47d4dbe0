import Foundation
import Holdfast
import HoldfastPostgres

/// A database of the directory.
struct Place {
  let name: String
  let server: URL
  /// A PostgreSQL URL, or the data directory of a server on SQLite.
  let location: String

  init(_ words: String) throws(UsageError) {
    let parts = words.split(separator: ",", maxSplits: 2).map(String.init)
    guard parts.count == 3, let server = URL(string: parts[1]) else {
      throw UsageError(description: Options.usage)
    }
    (name, self.server, location) = (parts[0], server, parts[2])
  }
}

/// What the database of a server holds, read by SQL alone.
struct PlaceContents {
  /// An item, and how often it was counted up.
  struct Item {
    let title: String
    let amount: Int64
  }

  /// The zones that are here, and not in another database.
  private(set) var zones: Set<String> = []
  /// The rows of these zones.
  private(set) var lines: [String: [String]] = [:]
  private(set) var items: [String: Item] = [:]
  private(set) var lists: [String: String] = [:]
  /// The records of these zones that were deleted.
  private(set) var gone: Set<String> = []
  /// The values of their conflict log, as JSON, by the record.
  private(set) var logged: [String: Set<String>] = [:]
  /// The zones that each user may read, by the user's name.
  private(set) var readable: [String: Set<String>] = [:]

  init(of place: Place) throws {
    let isPostgres = place.location.contains("://")
    let path = place.location + "/holdfast.db"
    let rows: (String) throws -> [[String]]
    if isPostgres {
      let connection = try PostgresConnection(place.location)
      rows = { sql in
        let rows = try connection.query(PostgresStatement(sql))
        return rows.indices.map { row in (0..<3).map { $0 < rows.columnCount ? rows.text(row, $0) : "" } }
      }
      lines = try Snapshot(of: connection).zones
    } else {
      let connection = try SQLiteConnection(path: path, access: .readOnly)
      rows = { sql in
        try connection.rows(sql).map { row in (0..<3).map { $0 < row.count ? row[$0].text ?? "" : "" } }
      }
      lines = try Snapshot(path: path, isDevice: false).zones
    }
    let own = isPostgres ? "holdfast." : "holdfast_"
    let zoned =
      isPostgres
      ? "items i JOIN holdfast.records r USING (id) WHERE r.state = 0 AND r.record_table = 'items'"
      : "items r"
    zones = Set(
      try rows("SELECT zone FROM \(own)zones WHERE left_for IS NULL").map {
        $0[0]
      })
    let here = zones
    lines = lines.filter { here.contains($0.key) }
    for row in try rows("SELECT id, r.zone, title || ' ' || CAST(amount AS text) FROM \(zoned)")
    where here.contains(row[1]) {
      let words = row[2].split(separator: " ")
      items[row[0]] = Item(title: String(words[0]), amount: Int64(words[1]) ?? -1)
    }
    for row in try rows("SELECT id, title FROM lists") where here.contains(row[0]) { lists[row[0]] = row[1] }
    let tombstones =
      isPostgres
      ? "SELECT id, zone FROM holdfast.records WHERE state = 1"
      : "SELECT id, zone FROM holdfast_tombstones WHERE departed = 0"
    for row in try rows(tombstones) where here.contains(row[1]) { gone.insert(row[0]) }
    for column in ["winner_value", "loser_value"] {
      let log = isPostgres ? "holdfast.conflicts" : "conflicts"
      for row in try rows("SELECT record_id, CAST(\(column) AS text) FROM \(log) WHERE \(column) IS NOT NULL")
      {
        logged[row[0], default: []].insert(row[1])
      }
    }
    let readers = "SELECT a.zone, n.name FROM \(own)access a JOIN \(own)accounts n ON n.id = a.\"user\""
    for row in try rows(readers) where here.contains(row[0]) { readable[row[1], default: []].insert(row[0]) }
  }
}
