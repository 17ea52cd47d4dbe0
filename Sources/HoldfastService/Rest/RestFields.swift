import HoldfastCore

/// Names of members that a REST body or an item of it may have.
struct Members: OptionSet, CustomStringConvertible {
  let rawValue: Int

  /// The place of each name is that of its bit.
  private static let names: [StaticString] = [
    "op", "table", "id", "zone", "rev", "if_match", "atomic", "at", "base", "columns", "records",
    "operations",
  ]

  static let op = Members(rawValue: 1 << 0)
  static let table = Members(rawValue: 1 << 1)
  static let id = Members(rawValue: 1 << 2)
  static let zone = Members(rawValue: 1 << 3)
  static let rev = Members(rawValue: 1 << 4)
  static let ifMatch = Members(rawValue: 1 << 5)
  static let atomic = Members(rawValue: 1 << 6)
  static let at = Members(rawValue: 1 << 7)
  static let base = Members(rawValue: 1 << 8)
  static let columns = Members(rawValue: 1 << 9)
  static let records = Members(rawValue: 1 << 10)
  static let operations = Members(rawValue: 1 << 11)

  init(rawValue: Int) { self.rawValue = rawValue }

  /// The member with a name; nil for an unknown one.
  init?(_ key: JSONKey) {
    guard let place = Self.names.firstIndex(where: { key == $0 }) else { return nil }
    rawValue = 1 << place
  }

  /// The first of the names.
  var description: String {
    Self.names.indices.first { rawValue & 1 << $0 != 0 }.map { Self.names[$0].description } ?? ""
  }
}

/// The members of a body or of an item, as received.
struct RestFields {
  /// The known members that it has.
  var present: Members = []
  /// Those among them that have a wrong type.
  private(set) var wrong: Members = []
  /// The first member that is not known.
  private var unknown: String?
  private(set) var verb: String?
  private(set) var table: String?
  private(set) var id: String?
  private(set) var zone: String?
  private(set) var rev: Int64?
  private(set) var ifMatch: RestItem.Condition?
  private(set) var atomic: Bool?
  private(set) var at: String?
  private(set) var base: UnsafeBufferPointer<UInt8>?
  private(set) var columns: UnsafeBufferPointer<UInt8>?

  /// A member that is not among some; nil without one.
  func first(besides known: Members) -> String? {
    let others = present.subtracting(known)
    return unknown ?? (others.isEmpty ? nil : others.description)
  }

  mutating func take(_ member: Members?, _ key: JSONKey, from reader: inout JSONReader) throws {
    guard let member else {
      unknown = unknown ?? key.string
      return try reader.skipValue()
    }
    present.insert(member)
    switch (member, try reader.peekKind()) {
    case (.op, .string): verb = try reader.readString()
    case (.table, .string): table = try reader.readString()
    case (.id, .string): id = try reader.readString()
    case (.zone, .string): zone = try reader.readString()
    case (.rev, .number): rev = try integer(member, &reader)
    case (.ifMatch, .number): ifMatch = try integer(member, &reader).map { .rev($0) }
    case (.ifMatch, .string): ifMatch = .tags([try reader.readString()])
    case (.atomic, .bool): atomic = try reader.readBool()
    case (.at, .string): at = try reader.readString()
    case (.base, .object): base = try reader.readRawValue()
    case (.columns, .object): columns = try reader.readRawValue()
    default:
      wrong.insert(member)
      try reader.skipValue()
    }
  }

  private mutating func integer(_ member: Members, _ reader: inout JSONReader) throws -> Int64? {
    // Reads the raw number first: one beyond the range of `Int64` is an invalid member, not malformed JSON.
    let text = try reader.readRawValue()
    guard let number = Int64(String(decoding: text, as: UTF8.self)) else {
      wrong.insert(member)
      return nil
    }
    return number
  }
}
