/// A key ready to be copied into a JSON text: quoted, escaped and with its colon.
///
/// Made once for a name that is written many times, such as a column's.
public struct JSONKeyFragment: Hashable, Sendable {
  /// `"name":` in UTF-8.
  public let bytes: [UInt8]

  /// Prepares a key.
  ///
  /// - Parameter name: any string; it is escaped here, once.
  public init(_ name: String) {
    var writer = JSONWriter(capacity: name.utf8.count + 8)
    writer.string(name)
    writer.append(UInt8(ascii: ":"))
    bytes = writer.bytes
  }
}
