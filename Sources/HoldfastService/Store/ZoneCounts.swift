package import HoldfastCore

/// What a zone holds. It is kept on the zone's row, in the commit that changes its seq: docs/OPERATIONS.md, section 5.
package struct ZoneCounts: Equatable, Sendable {
  /// The live records, members among them, without the log of conflicts.
  package var records: Int64 = 0
  /// The bytes of all live records, the log of conflicts among them.
  package var bytes: Int64 = 0

  package init(records: Int64 = 0, bytes: Int64 = 0) {
    (self.records, self.bytes) = (records, bytes)
  }

  package static func += (counts: inout ZoneCounts, growth: ZoneCounts) {
    counts.records += growth.records
    counts.bytes += growth.bytes
  }

  /// What the doctor says of a zone whose row says something else.
  package func finding(of zone: String) -> String {
    "counts: the zone \(zone) holds \(records) records and \(bytes) bytes, and says something else; `holdfast doctor --repair` mends it"
  }
}

extension SchemaDifference {
  /// Whether records that stand come to another size by it.
  package func changesSizes(in schema: SyncSchema) -> Bool {
    !removedTables.isEmpty || !renamedTables.isEmpty || kept.contains(where: \.isRewritten)
      || columns.contains { schema.tables[$0.table].columns[$0.column].defaultValue ?? .null != .null }
  }
}

/// A zone, as a transaction finds it under its lock.
package struct LockedZone {
  package let seq: Int64
  package let isPublic: Bool
  package let counts: ZoneCounts

  package init(seq: Int64, isPublic: Bool, counts: ZoneCounts) {
    (self.seq, self.isPublic, self.counts) = (seq, isPublic, counts)
  }
}

extension StoredRecord {
  /// The bytes that it comes to in its zone: those of its id and its texts in UTF-8, and 8 for each other value that is not null.
  package var bytes: Int64 { Self.bytes(id, values) }

  /// The same of an id and values.
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
