internal import CSQLite
package import HoldfastCore

/// What commits have changed: tables, and their rows where SQLite names them.
///
/// ```swift
/// connection.onCommit { changes in
///   if case .numbers(let rows)? = changes.rows(of: "items") { print("\(rows.count) items changed") }
/// }
/// ```
package struct SQLiteChanges: Sendable, Equatable {
  /// The rows of a table that were inserted, changed or deleted.
  package enum Rows: Sendable, Hashable {
    /// Those with these row numbers (`rowid`).
    case numbers(Set<Int64>)
    /// Any of them: there were too many to name, or the table has no row numbers.
    case any
  }

  /// So many rows of a table are named.
  package static let rowLimit = 200

  private var changed: TextMap<Rows>

  init(_ tables: [ChangedTable]) {
    changed = TextMap(tables.map { ($0.text, $0.rows) }, uniquingKeysWith: { $1 })
  }

  /// The names of the tables.
  package var tables: TextSet { TextSet(changed.map { $0.key }) }

  /// The rows of a table that changed; nil when none did.
  package func rows(of table: String) -> Rows? { changed[table] }

  /// Adds what a later commit has changed.
  package mutating func add(_ later: SQLiteChanges) {
    for (table, rows) in later.changed {
      if case .numbers(let new) = rows, case .numbers(let known)? = changed[table],
        known.count + new.count <= Self.rowLimit
      {
        changed[table] = .numbers(known.union(new))
      } else {
        changed[table] = changed[table] == nil ? rows : .any
      }
    }
  }
}

/// A table that the open transaction has changed, with the numbers of its changed rows.
///
/// It belongs to its connection's thread, so access to it is not checked at run time.
final class ChangedTable {
  private let name: ContiguousArray<CChar>
  @exclusivity(unchecked) private var numbers: [Int64] = []
  @exclusivity(unchecked) private var isAny = false

  init(_ name: UnsafePointer<CChar>) {
    self.name = String(cString: name).utf8CString
  }

  var text: String { name.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? "" }

  func isNamed(_ other: UnsafePointer<CChar>) -> Bool {
    name.withUnsafeBufferPointer { sqlite3_stricmp($0.baseAddress, other) == 0 }
  }

  func add(_ number: Int64) {
    // A row that several triggers touch comes several times in a row.
    if isAny || numbers.last == number { return }
    if numbers.count < SQLiteChanges.rowLimit { numbers.append(number) } else { addAny() }
  }

  func addAny() {
    isAny = true
    numbers = []
  }

  var rows: SQLiteChanges.Rows { isAny ? .any : .numbers(Set(numbers)) }
}
