import Foundation
import Holdfast
import HoldfastPostgres

/// All that a database holds of lists, items, members and conflicts: for each zone a line a record, in the order of positions.
struct Snapshot {
  private(set) var zones: [String: [String]] = [:]
  /// How many edits of a device wait.
  private(set) var waiting: Int64 = 0
  /// The change sets that the server has refused, as JSON.
  private(set) var refused: [Data] = []

  /// The edits of a device that the server has not confirmed, or has refused.
  var unsettled: Int64 { waiting + Int64(refused.count) }

  /// What a device has.
  init(of device: Device) throws { try self.init(path: device.path) }

  /// - Parameter isDevice: whether it is the file of a device, and not that of a server.
  init(path: String, isDevice: Bool = true) throws {
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    try connection.transaction(.deferred) {
      for (table, columns) in Self.tables {
        let order = table == "items" ? "position, id" : "id"
        for row in try connection.rows("SELECT zone, \(columns.line("done")) FROM \(table) ORDER BY \(order)")
        {
          add(row[1].text ?? "", to: row[0].text ?? "")
        }
      }
      guard isDevice else { return }
      let count = "SELECT (SELECT count(*) FROM holdfast_outbox) + (SELECT count(*) FROM holdfast_edits)"
      waiting = try connection.value(count)?.integer ?? -1
      refused = try connection.rows("SELECT body FROM holdfast_quarantine").map { Data($0[0].blob ?? []) }
    }
  }

  /// What the server has.
  init(of server: PostgresConnection) throws {
    for (table, columns) in Self.tables {
      let relation = ["members", "conflicts"].contains(table) ? "holdfast.\(table)" : table
      let order = table == "items" ? "t.position, t.id" : "t.id"
      let rows = try server.query(
        PostgresStatement(
          """
          SELECT r.zone, \(columns.line("done::int")) FROM \(relation) t
          JOIN (SELECT id AS record, zone, rev FROM holdfast.records WHERE record_table = '\(table)' AND state = 0) r
          ON r.record = t.id ORDER BY \(order)
          """))
      for row in rows.indices { add(rows.text(row, 1), to: rows.text(row, 0)) }
    }
  }

  private mutating func add(_ line: String, to zone: String) { zones[zone, default: []].append(line) }

  /// The columns of the tables, as one expression that SQLite and PostgreSQL both understand.
  private struct Columns {
    let names: [String]

    func line(_ done: String) -> String {
      names.map { name in
        name == "done" ? done : name == "note" ? "coalesce(note, '-')" : name
      }.joined(separator: " || ' | ' || ")
    }
  }

  private static let tables = [
    ("lists", Columns(names: ["id", "rev", "title"])),
    ("items", Columns(names: ["id", "rev", "list_id", "position", "title", "done", "note", "amount"])),
    ("members", Columns(names: ["id", "rev", "\"user\"", "name", "role"])),
    ("conflicts", Columns(names: ["id", "rev", "record_id", "column_name"])),
  ]
}
