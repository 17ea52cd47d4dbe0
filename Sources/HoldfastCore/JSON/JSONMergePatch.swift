/// Merges a patch into a JSON value. Members outside the patch keep their bytes, and so the exact form of their numbers.
///
/// Source: RFC 7396.
package enum JSONMergePatch {
  /// Applies a patch.
  ///
  /// - Parameters:
  ///   - patch: a JSON text.
  ///   - target: the current JSON text; nil for none.
  /// - Returns: the resulting JSON.
  /// - Throws: ``JSONError`` if one of them is invalid JSON, or nested deeper than 64.
  package static func apply(_ patch: [UInt8], to target: [UInt8]?) throws -> [UInt8] {
    guard try kind(of: patch) == .object else { return patch }
    var merged = JSONWriter(capacity: patch.count + (target?.count ?? 0))
    try write(patch, over: target, to: &merged)
    return merged.bytes
  }

  private struct Member {
    let name: String
    let value: [UInt8]
  }

  /// Writes the result of applying an object, the patch, to a value.
  private static func write(_ patch: [UInt8], over target: [UInt8]?, to writer: inout JSONWriter) throws {
    let changes = try members(of: patch)
    let there = try target.map { try kind(of: $0) == .object ? members(of: $0) : [] } ?? []
    // Names are compared by bytes; `String` would compare them by canonical equivalence.
    var places: [[UInt8]: Int] = [:]
    for (place, change) in changes.enumerated() { places[Array(change.name.utf8)] = place }
    var isDone = Array(repeating: false, count: changes.count)
    writer.beginObject()
    for member in there {
      guard let place = places[Array(member.name.utf8)] else {
        writer.key(named: member.name)
        writer.rawValue(member.value)
        continue
      }
      isDone[place] = true
      try write(changes[place], over: member.value, to: &writer)
    }
    for (place, change) in changes.enumerated() where !isDone[place] {
      try write(change, over: nil, to: &writer)
    }
    writer.endObject()
  }

  private static func write(_ change: Member, over target: [UInt8]?, to writer: inout JSONWriter) throws {
    switch try kind(of: change.value) {
    case .null: return
    case .object:
      writer.key(named: change.name)
      try write(change.value, over: target, to: &writer)
    case .array, .string, .number, .bool:
      writer.key(named: change.name)
      writer.rawValue(change.value)
    }
  }

  private static func kind(of text: [UInt8]) throws -> JSONKind {
    try JSONReader.read(text) { try $0.peekKind() }
  }

  private static func members(of object: [UInt8]) throws -> [Member] {
    try JSONReader.read(object) { reader in
      var members: [Member] = []
      try reader.readObject { members.append(Member(name: $0.string, value: Array(try $1.readRawValue()))) }
      return members
    }
  }
}
