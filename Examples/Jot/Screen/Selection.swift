/// The cursor in rows that come and go: it stays on the same record.
struct Selection<ID: Hashable & Sendable>: Hashable, Sendable {
  private(set) var id: ID?
  private(set) var index = 0
  /// The first row that is visible.
  private(set) var top = 0

  /// Finds the record again among the present rows; when it is gone, the row at its place is taken.
  mutating func follow(_ ids: [ID]) {
    if let id, index < ids.count, ids[index] == id { return }
    if let id, let found = ids.firstIndex(of: id) {
      index = found
    } else {
      index = max(0, min(index, ids.count - 1))
      id = ids.isEmpty ? nil : ids[index]
    }
  }

  /// The row at the cursor; nil when there is none.
  func row<Row>(of rows: [Row]) -> Row? { rows.indices.contains(index) ? rows[index] : nil }

  /// Goes some rows down, or up.
  mutating func move(by rows: Int, in ids: [ID]) {
    guard !ids.isEmpty else { return }
    index = max(0, min(index + rows, ids.count - 1))
    id = ids[index]
  }

  /// Goes to a record, also to one that is not among the rows yet.
  mutating func select(_ id: ID?) { self.id = id }

  /// Scrolls as far as the row needs to be visible.
  mutating func scroll(height: Int, count: Int) {
    top = max(0, min(top, count - height))
    if index < top { top = index }
    if index >= top + height { top = index - height + 1 }
  }
}
