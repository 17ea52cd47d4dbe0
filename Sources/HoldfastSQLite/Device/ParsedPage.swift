/// The parsed changes of a page, ready to be written.
///
/// Made by `PageParser`. Texts refer to the bytes of the page, so parsing neither copies nor counts them.
package struct ParsedPage: Sendable {
  /// One value of a record.
  package enum Cell: Sendable {
    /// Not sent by the server.
    case absent
    case null
    case integer(Int64)
    case real(Double)
    /// A text without escapes, as a range of `bytes`.
    case text(start: Int, count: Int)
    /// Any other value, as an index in `others`.
    case other(Int)
  }

  package struct Change: Sendable {
    /// The index of the table.
    package var table = 0
    package var id = Cell.text(start: 0, count: 0)
    package var rev: Int64 = 0
    package var isDeleted = false
    /// The index of the record's first cell. There is one cell per column, and none for a tombstone.
    package var firstCell = 0
    /// The range of the columns in `bytes`. A record with local edits is parsed from there again.
    package var columns = 0..<0
  }

  /// The page, or an answer that contains it.
  package let bytes: [UInt8]
  package var changes: [Change] = []
  package var cells: [Cell] = []
  package var others: [SQLiteValue] = []

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  package func id(of change: Change) -> String {
    switch change.id {
    case .text(let start, let count): String(decoding: bytes[start..<start + count], as: UTF8.self)
    case .other(let index): others[index].text ?? ""
    default: ""
    }
  }
}
