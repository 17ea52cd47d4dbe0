package import HoldfastCore

/// What each answer of a sync says of the server's schema: docs/SCHEMA-CHANGES.md, sections 2 and 3.
package struct SchemaWords: Sendable {
  /// Tells the schema from others.
  package let fingerprint: String
  /// The names of before, as JSON; nil when there are none.
  package let renamed: [UInt8]?

  package init(_ schema: SyncSchema) {
    fingerprint = Fingerprint(of: schema.text).text
    let names = FormerNames(schema)
    renamed = names.isEmpty ? nil : names.json.bytes
  }
}
