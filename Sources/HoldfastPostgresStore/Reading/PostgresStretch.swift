import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Consecutive changes of a zone after a seq, and the zone in the same snapshot.
struct PostgresStretch {
  /// The zone, the seq before the first change, and the number of the snapshot.
  struct Key: Hashable {
    let zone: TextKey
    let after: Int64
    let moment: Int

    init(_ zone: ZoneProgress, in moment: Int) {
      (self.zone, after, self.moment) = (TextKey(zone.zone), zone.ack.seq, moment)
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
  let rows: Range<Int>
  /// The table whose values are in the ledger rows themselves; nil if none is.
  var joined: String?
  /// The values of the other live records, by table.
  var values: TextMap<Cursor> = [:]
  /// Whether the zone may have further changes.
  let isCut: Bool

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
}
