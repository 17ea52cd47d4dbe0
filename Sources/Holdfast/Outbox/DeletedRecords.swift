import HoldfastCore

/// Records that are deleted together. One below another goes with it on the server, whatever is said of it.
struct DeletedRecords {
  private struct Key: Hashable {
    let table: Int
    let id: TextKey
  }

  private let schema: SyncSchema
  private var keys: Set<Key> = []

  init(_ schema: SyncSchema) { self.schema = schema }

  mutating func insert(_ record: LooseRecord) {
    keys.insert(Key(table: record.table, id: TextKey(record.id)))
  }

  /// Whether a record that was deleted too was below one of these.
  func areAbove(_ record: LooseRecord) -> Bool {
    schema.links(of: record.table).contains { link in
      guard link.isInZone, link.onDelete == .cascade else { return false }
      let column = schema.tables[record.table].columns[link.column].name
      let parent = record.edits.last { $0.kind == .delete && $0.column == column }?.base.text
      return parent.map { $0 != record.id && keys.contains(Key(table: link.target, id: TextKey($0))) }
        ?? false
    }
  }
}
