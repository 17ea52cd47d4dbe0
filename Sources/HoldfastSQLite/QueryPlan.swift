internal import CSQLite
import HoldfastSystem

/// The steps of a statement's plan, indented by depth; empty if there is none, as of COMMIT.
///
/// It is SQLite's `EXPLAIN QUERY PLAN`: the statement is prepared once more, without values, and not run.
func queryPlan(of sql: String, in database: OpaquePointer) -> [String] {
  var explained: OpaquePointer?
  guard sqlite3_prepare_v2(database, "EXPLAIN QUERY PLAN \(sql)", -1, &explained, nil) == SQLITE_OK else {
    return []
  }
  defer { sqlite3_finalize(explained) }
  var depths: [Int32: Int] = [:]
  var lines: [String] = []
  while lines.count < SlowStatements.planLimit.lines, sqlite3_step(explained) == SQLITE_ROW {
    let depth = depths[sqlite3_column_int(explained, 1)].map { $0 + 1 } ?? 0
    depths[sqlite3_column_int(explained, 0)] = depth
    let detail = sqlite3_column_text(explained, 3).map { String(cString: $0) } ?? ""
    lines.append(String(repeating: "  ", count: depth) + detail)
  }
  return lines
}
