/// The changes of a page as they came over the wire, ready to be written.
///
/// Made by `PageParser`. Its texts stay where they are in the page, so that nothing is copied or counted for them.
package struct ParsedPage: Sendable {
  /// One value of a record.
  package enum Cell: Sendable {
    /// The server did not send it.
    case absent
    case null
    case integer(Int64)
    case real(Double)
    /// A text without escapes: where it lies in `bytes`.
    case text(start: Int, count: Int)
    /// Any other value: its index in `others`.
    case other(Int)
  }

  package struct Change: Sendable {
    /// The index of the table.
    package var table = 0
    package var id = Cell.text(start: 0, count: 0)
    package var rev: Int64 = 0
    package var isDeleted = false
    /// The index of the first of the record's cells, of which there is one a column; none when it is deleted.
    package var firstCell = 0
    /// Where the columns lie in `bytes`: those of a record with edits are read once more.
    package var columns = 0..<0
  }

  /// The page, or an answer that holds it.
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
