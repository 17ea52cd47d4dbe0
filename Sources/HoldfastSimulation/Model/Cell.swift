import HoldfastCore

/// One value as SQLite stores it.
///
/// The model has its own representation of a database. It shares only byte-comparing dictionaries with the product, so that a bug of the
/// product can't hide in both.
enum Cell: Hashable, Sendable, CustomStringConvertible {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  var description: String {
    switch self {
    case .null: "null"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let text): "\"\(text)\""
    case .blob(let bytes): "\(bytes.count) bytes"
    }
  }

  /// The string, if it is a text.
  var string: String? { if case .text(let text) = self { text } else { nil } }

  /// The number, if it is an integer.
  var number: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// Whether the value identifies its author: an integer, or a text with tokens.
  var isTelling: Bool { number != nil || !tokens.isEmpty }

  /// The identifying part of a replaced value: an integer, or its tokens.
  static func base(_ number: Int64?, _ tokens: Set<Int>) -> Cell {
    number.map(Cell.integer) ?? .text(Tokens.text(tokens))
  }
}

/// Identifies a record.
struct RecordKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  let table: String
  let id: String

  var description: String { "\(table) \(id)" }

  static func < (one: RecordKey, other: RecordKey) -> Bool {
    (one.table, one.id) < (other.table, other.id)
  }
}

/// A record's columns with its zone and rev, without its id.
typealias Row = TextMap<Cell>

/// Records of all tables.
typealias Tables = [RecordKey: Row]

extension TextMap<Cell> {
  /// The zone that a record is in.
  var zone: String? { self["zone"]?.string }
  /// The record's revision.
  var rev: Int64 { self["rev"]?.number ?? 0 }
  /// The names of the columns that people write, in order.
  var ownColumns: [String] { keys.filter { $0 != "zone" && $0 != "rev" }.sorted() }
}
