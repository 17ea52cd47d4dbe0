import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Consecutive changes of a zone after a seq, and the zone in the same snapshot.
struct PostgresStretch {
  /// The zone, the seq before the first change, and the state of the database, where that is known.
  struct Key: Hashable {
    let zone: TextKey
    let after: Int64
    let state: SnapshotState?

    init(_ zone: ZoneProgress, in state: SnapshotState?) {
      (self.zone, after, self.state) = (TextKey(zone.zone), zone.ack.seq, state)
    }
  }

  /// Rows of values, and which of them are not yet written.
  struct Cursor {
    let rows: PostgresRows
    var rest: Range<Int>
  }

  let zone: ZoneProgress
  /// Rows of the ledger.
  let places: PostgresRows
  /// The rows of the zone among them.
  private(set) var rows: Range<Int>
  /// The table whose values are in the ledger rows themselves; nil if none is.
  var joined: String?
  /// The values of the other live records, by table.
  var values: TextMap<Cursor> = [:]
  /// The values of a table that was scanned, and which of its rows belongs to which row of `rows`.
  private var scanned: TextMap<(values: PostgresRows, places: [Int])> = [:]
  /// Whether the zone may have further changes.
  private(set) var isCut: Bool

  init(
    zone: ZoneProgress, places: PostgresRows, rows: Range<Int>, joined: String? = nil, isCut: Bool
  ) {
    (self.zone, self.places, self.rows, self.joined, self.isCut) = (zone, places, rows, joined, isCut)
  }

  /// The columns of a row of the ledger; the values follow in `values`, if the record is in its table.
  enum Column {
    static let seq = 1
    static let table = 2
    static let id = 3
    static let rev = 4
    static let state = 5
    static let stamp = 6
    static let isFound = 7
    static let values = 8
  }

  /// The seq of the last change; nil if there is none.
  var last: Int64? { rows.isEmpty ? nil : places.int64(rows.upperBound - 1, Column.seq) }

  /// The tables of its live records, in order of appearance, except that the table of the last record comes first.
  var tables: [String] {
    var tables: [String] = []
    var last = ""
    for row in rows where places.int64(row, Column.state) == 0 {
      let isSame = places.withText(row, Column.table) { last.utf8.elementsEqual($0) }
      if isSame { continue }
      last = places.text(row, Column.table)
      if !tables.contains(last) { tables.append(last) }
    }
    return tables.filter { $0 == last } + tables.filter { $0 != last }
  }

  /// The live records of one table in a stretch.
  struct Span {
    let table: String
    var count = 0
    /// The rows with the least id and with the greatest.
    var first: Int
    var last: Int
    var least = ""
    var greatest = ""
  }

  /// Leaves out the rows behind the first ones.
  mutating func cut(to size: Int) {
    if rows.count <= size { return }
    rows = rows.lowerBound..<rows.lowerBound + size
    isCut = true
  }

  /// The live records by table.
  var spans: [Span] {
    var spans: [Span] = []
    var current = -1
    for row in rows where places.int64(row, Column.state) == 0 {
      if current < 0 || !places.withText(row, Column.table, { spans[current].table.utf8.elementsEqual($0) }) {
        let table = places.text(row, Column.table)
        current = spans.firstIndex { $0.table == table } ?? spans.count
        if current == spans.count { spans.append(Span(table: table, first: row, last: row)) }
      }
      spans[current].count += 1
      if places.isLess(row, than: spans[current].first, in: Column.id) { spans[current].first = row }
      if places.isLess(spans[current].last, than: row, in: Column.id) { spans[current].last = row }
    }
    for index in spans.indices {
      spans[index].least = places.text(spans[index].first, Column.id)
      spans[index].greatest = places.text(spans[index].last, Column.id)
    }
    return spans
  }

  /// Takes the values of a table, in the order of the ids in their first column.
  ///
  /// - Returns: whether there are those of all live records of the table. Otherwise it takes none.
  mutating func take(_ values: PostgresRows, of table: String) -> Bool {
    var found = [Int](repeating: -1, count: rows.count)
    var next = 0
    for row in rows where places.int64(row, Column.state) == 0 {
      guard places.withText(row, Column.table, { table.utf8.elementsEqual($0) }) else { continue }
      let place = places.withText(row, Column.id) { id in
        next < values.count && values.withText(next, 0) { $0.elementsEqual(id) }
          ? next : values.index(of: id, in: 0)
      }
      guard let place else { return false }
      found[row - rows.lowerBound] = place
      next = place + 1
    }
    scanned[table] = (values, found)
    return true
  }

  /// The row with the values of a record in a table that was scanned; nil for others.
  func scannedRow(of row: Int, _ table: String) -> (rows: PostgresRows, row: Int)? {
    guard let (values, places) = scanned[table] else { return nil }
    let place = places[row - rows.lowerBound]
    return place < 0 ? nil : (values, place)
  }
}

extension PostgresRows {
  /// Whether a text comes before that of another row, by bytes.
  fileprivate func isLess(_ row: Int, than other: Int, in column: Int) -> Bool {
    withText(row, column) { text in withText(other, column) { text.lexicographicallyPrecedes($0) } }
  }

  /// The row with a text, among rows in the order of its bytes.
  fileprivate func index(of text: UnsafeBufferPointer<UInt8>, in column: Int) -> Int? {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if withText(middle, column, { $0.lexicographicallyPrecedes(text) }) {
        low = middle + 1
      } else {
        high = middle
      }
    }
    return low < count && withText(low, column) { $0.elementsEqual(text) } ? low : nil
  }
}
