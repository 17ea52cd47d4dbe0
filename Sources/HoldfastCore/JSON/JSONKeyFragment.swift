/// A key encoded once, with quotes, escapes and colon, to be copied into JSON texts.
///
/// Used for a name that is written many times, such as a column's.
package struct JSONKeyFragment: Hashable, Sendable {
  /// `"name":` in UTF-8.
  package let bytes: [UInt8]

  /// Encodes a key.
  ///
  /// - Parameter name: any string.
  package init(_ name: String) {
    var writer = JSONWriter(capacity: name.utf8.count + 8)
    writer.string(name)
    writer.append(UInt8(ascii: ":"))
    bytes = writer.bytes
  }

  /// Encodes the beginning of a record with its table, for `beginObject`: `{"table":"notes","id":`.
  package init(_ name: String, afterTable table: String) {
    var writer = JSONWriter(capacity: table.utf8.count + name.utf8.count + 16)
    writer.append(UInt8(ascii: "{"))
    writer.key("table")
    writer.string(table)
    writer.key(named: name)
    bytes = writer.bytes
  }
}
