/// The app version that a device reports, for operators; see PROTOCOL.md, section 3.
package struct ClientVersion: Hashable, Sendable {
  /// The maximum length of each text in bytes.
  package static let limit = 64

  /// The app's name and version, such as `jot 1.2`.
  package let app: String
  /// The fingerprint of the app's schema: 16 hex digits.
  package let schema: String

  /// Creates a version.
  package init(app: String, schema: String) { (self.app, self.schema) = (app, schema) }

  /// The valid part of an app's name: printable ASCII, up to the limit.
  package static func name(_ text: String) -> String {
    String(decoding: text.utf8.filter { (0x20..<0x7F).contains($0) }.prefix(limit), as: UTF8.self)
  }

  /// Parses it from a request.
  ///
  /// - Throws: `Problem.invalidRequest`.
  init(_ reader: inout JSONReader) throws {
    var (app, schema) = ("", "")
    try reader.readObject { key, reader in
      switch key {
      case "app": app = try reader.readString()
      case "schema": schema = try reader.readString()
      default: try reader.skipValue()
      }
    }
    guard app.utf8.count <= Self.limit, schema.utf8.count <= Self.limit, !app.utf8.contains(0),
      !schema.utf8.contains(0)
    else {
      throw Problem(.invalidRequest, "client has texts of at most \(Self.limit) bytes, without U+0000.")
    }
    (self.app, self.schema) = (app, schema)
  }

  /// Writes it into a request.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("app")
    writer.string(app)
    writer.key("schema")
    writer.string(schema)
    writer.endObject()
  }
}
