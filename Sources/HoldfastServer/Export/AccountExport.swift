import HoldfastCore
import HoldfastService

/// Reads all records that a user may read, except public ones, in portions: by zone, table and seq. See docs/EXPORT-AND-ERASURE.md.
struct AccountExport {
  /// The number of records in one read.
  private static let stretch = 200

  /// A position in an export.
  struct Place: Equatable {
    var zone: String
    var table: Int
    var seq: Int64

    init(zone: String, table: Int, seq: Int64) { (self.zone, self.table, self.seq) = (zone, table, seq) }

    /// Parses the result of `text(in:)`; nil for any other text.
    init?(_ text: String, in schema: SyncSchema) {
      let parts = text.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3, let seq = Int64(parts[0]), seq >= 0,
        let table = schema.index(called: String(parts[1]))
      else { return nil }
      self.init(zone: String(parts[2]), table: table, seq: seq)
    }

    /// The position as a query parameter. The zone is last: its name may contain dots, where SQL has chosen the id of its root record.
    func text(in schema: SyncSchema) -> String { "\(seq).\(schema.tables[table].name).\(zone)" }
  }

  let schema: SyncSchema
  let user: String
  /// The indexes of the tables, ascending.
  let tables: [Int]
  /// What one call reads at most: each table of a zone counts as one, and so do ten changes. Zones without records cost time, too.
  var effort = 2_000

  /// Reads records after a position, in one transaction: up to some effort, perhaps none.
  ///
  /// - Parameters:
  ///   - place: the position of the last record read; nil for the beginning.
  ///   - take: receives a record, and returns whether to continue.
  /// - Returns: the position reached; nil at the end.
  func read(
    _ store: any StoreReader, after place: Place?, _ take: (StoredRecord) throws -> Bool
  ) throws -> Place? {
    // Public records belong to no user.
    let visible = try store.visibleZones(of: user, publicZones: [])
    var effort = effort
    for zone in visible.zones {
      let isSame = place.map { $0.zone.utf8.elementsEqual(zone.zone.utf8) } ?? false
      if let place, !isSame, zone.zone.utf8.lexicographicallyPrecedes(place.zone.utf8) { continue }
      for table in tables {
        var seq: Int64 = 0
        if isSame, let place {
          if table < place.table { continue }
          if table == place.table { seq = place.seq }
        }
        while true {
          if effort <= 0 { return Place(zone: zone.zone, table: table, seq: seq) }
          let changes = try store.changes(of: table, in: zone.zone, after: seq, limit: Self.stretch)
          for change in changes {
            seq = change.seq
            guard case .live(let record) = change.content else { continue }
            if try !take(record) { return Place(zone: zone.zone, table: table, seq: seq) }
          }
          effort -= 1 + changes.count / 10
          if changes.count < Self.stretch { break }
        }
      }
    }
    return nil
  }
}
