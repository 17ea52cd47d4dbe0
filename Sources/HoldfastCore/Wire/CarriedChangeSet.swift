/// A change set of a request that another database refused, as its zone had moved: PROTOCOL.md, section 3. A user's sets of one origin take effect once.
package struct CarriedChangeSet: Hashable, Sendable {
  /// The number of its first operation.
  package let first: Int64
  /// What copies of the set, and no other sets of the user, have in common.
  package let origin: String

  /// Creates one.
  package init(first: Int64, origin: String) { (self.first, self.origin) = (first, origin) }

  private static func isOrigin(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: false
        }
      }
  }

  /// Parses the member `carried`, an array of pairs `[first, origin]`.
  static func readAll(_ reader: inout JSONReader) throws -> [CarriedChangeSet] {
    var sets: [CarriedChangeSet] = []
    try reader.readArray { reader in
      if sets.count == SyncRequest.changeSetLimit {
        throw Problem(.invalidRequest, "carried has more than \(SyncRequest.changeSetLimit) change sets.")
      }
      var first: Int64?
      var origin: String?
      var count = 0
      try reader.readArray { reader in
        switch count {
        case 0: first = try reader.readInt64()
        case 1: origin = try reader.readString()
        default: throw Problem(.invalidRequest, "carried has pairs of a number and an origin.")
        }
        count += 1
      }
      guard let first, let origin, isOrigin(origin) else {
        throw Problem(
          .invalidRequest,
          "carried has pairs of a number and an origin, 1 to 64 letters and digits of ASCII.")
      }
      sets.append(CarriedChangeSet(first: first, origin: origin))
    }
    return sets
  }

  /// Writes the member.
  static func writeAll(_ sets: [CarriedChangeSet], to writer: inout JSONWriter) {
    writer.beginArray()
    for set in sets {
      writer.beginArray()
      writer.int64(set.first)
      writer.string(set.origin)
      writer.endArray()
    }
    writer.endArray()
  }
}
