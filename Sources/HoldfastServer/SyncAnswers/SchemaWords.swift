import HoldfastCore

/// What each answer of a sync says of the server's schema: docs/SCHEMA-CHANGES.md, sections 2 and 3.
struct SchemaWords: Sendable {
  /// Tells the schema from others.
  let fingerprint: String
  /// The names of before, as JSON; nil when there are none.
  let renamed: [UInt8]?

  init(_ schema: SyncSchema) {
    fingerprint = Fingerprint(of: schema.text).text
    let names = FormerNames(schema)
    renamed = names.isEmpty ? nil : names.json.bytes
  }
}
