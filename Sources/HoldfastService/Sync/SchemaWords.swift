package import HoldfastCore

/// The schema members of each sync answer: docs/SCHEMA-CHANGES.md, sections 2 and 3.
package struct SchemaWords: Sendable {
  /// Identifies the schema.
  package let fingerprint: String
  /// The former names of tables and columns, as JSON; nil if there are none.
  package let renamed: [UInt8]?

  package init(_ schema: SyncSchema) {
    fingerprint = Fingerprint(of: schema.text).text
    let names = FormerNames(schema)
    renamed = names.isEmpty ? nil : names.json.bytes
  }
}
