import HoldfastCore
import HoldfastService

/// All records that a user may read, zone by zone, table by table, in seq order, some at a time: docs/EXPORT-AND-ERASURE.md.
struct AccountExport {
  /// How many records are read together.
  private static let stretch = 200

  /// How far an export has come.
  struct Place: Equatable {
    var zone: String
    var table: Int
    var seq: Int64

    init(zone: String, table: Int, seq: Int64) { (self.zone, self.table, self.seq) = (zone, table, seq) }

    /// Reads what `text(in:)` gave; nil for anything else.
    init?(_ text: String, in schema: SyncSchema) {
      let parts = text.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count == 3, let seq = Int64(parts[0]), seq >= 0,
        let table = schema.index(of: String(parts[1]))
      else { return nil }
      self.init(zone: String(parts[2]), table: table, seq: seq)
    }

    /// The place as a parameter. Zones are ids or names, without a dot.
    func text(in schema: SyncSchema) -> String { "\(seq).\(schema.tables[table].name).\(zone)" }
  }

  let schema: SyncSchema
  let user: String
  /// The indexes of the tables, in order.
  let tables: [Int]

  /// Reads on from a place, in one transaction.
  ///
  /// - Parameters:
  ///   - place: the last record that is known; nil for the beginning.
  ///   - take: takes a record, and says whether there is room for another.
  /// - Returns: how far it came; nil at the end.
  func read(
    _ store: any StoreReader, after place: Place?, _ take: (StoredRecord) throws -> Bool
  ) throws -> Place? {
    // What is public is no person's.
    let visible = try store.visibleZones(of: user, publicZones: [])
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
          let changes = try store.changes(of: table, in: zone.zone, after: seq, limit: Self.stretch)
          for change in changes {
            seq = change.seq
            guard case .live(let record) = change.content else { continue }
            if try !take(record) { return Place(zone: zone.zone, table: table, seq: seq) }
          }
          if changes.count < Self.stretch { break }
        }
      }
    }
    return nil
  }
}
