package import HoldfastCore

/// The number of records and bytes of a zone. The zone's row stores them; the commit that changes the zone's seq updates them:
/// docs/OPERATIONS.md, section 5.
package struct ZoneCounts: Equatable, Sendable {
  /// The live records, including members, without the conflict log.
  package var records: Int64 = 0
  /// The bytes of all live records, including the conflict log.
  package var bytes: Int64 = 0

  package init(records: Int64 = 0, bytes: Int64 = 0) {
    (self.records, self.bytes) = (records, bytes)
  }

  package static func += (counts: inout ZoneCounts, growth: ZoneCounts) {
    counts.records += growth.records
    counts.bytes += growth.bytes
  }

  /// The doctor's line for a zone with wrong stored counts.
  package func finding(of zone: String) -> Finding {
    Finding(
      .counts,
      "the zone \(zone) holds \(records) records and \(bytes) bytes, and says something else; `holdfast doctor --repair` mends it"
    )
  }
}

extension SchemaDifference {
  /// Whether the schema change alters the size of existing records.
  package func changesSizes(in schema: SyncSchema) -> Bool {
    !removedTables.isEmpty || !renamedTables.isEmpty || kept.contains(where: \.isRewritten)
      || columns.contains { schema.tables[$0.table].columns[$0.column].defaultValue ?? .null != .null }
  }
}

/// A zone's state under the transaction's lock.
package struct LockedZone {
  package let seq: Int64
  package let isPublic: Bool
  package let counts: ZoneCounts
  /// The database to which the zone has moved; nil while it is here.
  package let leftFor: String?

  package init(seq: Int64, isPublic: Bool, counts: ZoneCounts, leftFor: String?) {
    (self.seq, self.isPublic, self.counts, self.leftFor) = (seq, isPublic, counts, leftFor)
  }
}

extension StoredRecord {
  /// The record's share of its zone's byte count: its id and texts in UTF-8, and 8 bytes for each other value that is not null.
  package var bytes: Int64 { Self.bytes(id, values) }

  /// The byte count of an id and values.
  package static func bytes(_ id: String, _ values: [Value]) -> Int64 {
    values.reduce(Int64(id.utf8.count)) { sum, value in
      switch value {
      case .null: sum
      case .text(let text): sum + Int64(text.utf8.count)
      case .integer, .real: sum + 8
      }
    }
  }
}
