package import HoldfastCore

/// Values of records that the schema does not allow, counted for each column. The service refuses them in a write. They may be intended:
/// limits apply to later writes alone, and SQL writers of PostgreSQL have none.
package struct ValueDoubts {
  private struct Found {
    var count = 0
    /// The first record, and what is wrong with it.
    let id: String
    let reason: String
  }

  private let table: TableSchema
  private var found: TextMap<Found> = [:]

  package init(_ table: TableSchema) { self.table = table }

  /// Checks a record.
  ///
  /// - Parameter values: one for each column, in order; nil for what no value can be, such as bytes.
  package mutating func check(_ id: String, _ values: [Value?]) {
    if !Identifier.isPossible(id) { note("id", id, "id must have 1 to 64 bytes, without U+0000.") }
    for (column, value) in zip(table.columns, values) {
      guard let value else {
        note(column.name, id, "\(column.name) must be of type \(column.type.rawValue).")
        continue
      }
      // JSON's null is no value, as SQL's.
      let isNull = column.type == .json && (value.text.map { JSONValue.isNull(utf8: $0.utf8) } ?? false)
      do { try column.check(isNull ? .null : value) } catch { note(column.name, id, error.detail) }
    }
  }

  private mutating func note(_ column: String, _ id: String, _ reason: String) {
    found[column, default: Found(id: id, reason: reason)].count += 1
  }

  /// A line for each column.
  package var findings: [Finding] {
    found.keys.sorted().compactMap { column in
      found[column].map { found in
        Finding(
          .value,
          """
          \(found.count) of \(table.name).\(column) are values that the schema does not allow, that of the record \(found.id) among them: \
          \(found.reason)
          """)
      }
    }
  }
}
