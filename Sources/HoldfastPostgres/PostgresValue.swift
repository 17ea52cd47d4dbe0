/// A type whose values can be sent to PostgreSQL in its binary format.
///
/// Source: the `*send` and `*recv` functions of <https://www.postgresql.org/docs/15/protocol-overview.html>; all
/// integers are in network order.
public protocol PostgresValue {
  /// The PostgreSQL type.
  static var postgresType: PostgresType { get }

  /// Appends the bytes of the value, without their count.
  func encode(into bytes: inout [UInt8])
}

/// A PostgreSQL type by its OID in `pg_type`. The types named here have the same OID in every database.
public struct PostgresType: Sendable, Hashable {
  /// The OID of the type.
  public let identifier: UInt32
  /// The OID of its array type.
  public let arrayIdentifier: UInt32

  /// Creates a type from both OIDs in `pg_type`.
  public init(identifier: UInt32, arrayIdentifier: UInt32) {
    self.identifier = identifier
    self.arrayIdentifier = arrayIdentifier
  }

  /// boolean
  public static let bool = PostgresType(identifier: 16, arrayIdentifier: 1000)
  /// bytea
  public static let bytea = PostgresType(identifier: 17, arrayIdentifier: 1001)
  /// bigint
  public static let int8 = PostgresType(identifier: 20, arrayIdentifier: 1016)
  /// integer
  public static let int4 = PostgresType(identifier: 23, arrayIdentifier: 1007)
  /// text
  public static let text = PostgresType(identifier: 25, arrayIdentifier: 1009)
  /// double precision
  public static let float8 = PostgresType(identifier: 701, arrayIdentifier: 1022)
}

extension [UInt8] {
  /// Appends an integer in network order.
  @inlinable
  mutating func appendInteger(_ value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}

extension Int64: PostgresValue {
  /// bigint
  public static var postgresType: PostgresType { .int8 }
  /// Appends eight bytes.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.appendInteger(self) }
}

extension Int: PostgresValue {
  /// bigint
  public static var postgresType: PostgresType { .int8 }
  /// Appends eight bytes.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.appendInteger(Int64(self)) }
}

extension Int32: PostgresValue {
  /// integer
  public static var postgresType: PostgresType { .int4 }
  /// Appends four bytes.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.appendInteger(self) }
}

extension Bool: PostgresValue {
  /// boolean
  public static var postgresType: PostgresType { .bool }
  /// Appends one byte.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }
}

extension Double: PostgresValue {
  /// double precision
  public static var postgresType: PostgresType { .float8 }
  /// Appends the eight bytes of IEEE 754.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.appendInteger(bitPattern) }
}

extension String: PostgresValue {
  /// text
  public static var postgresType: PostgresType { .text }
  /// Appends the UTF-8.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension Substring: PostgresValue {
  /// text
  public static var postgresType: PostgresType { .text }
  /// Appends the UTF-8.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: utf8) }
}

extension [UInt8]: PostgresValue {
  /// bytea
  public static var postgresType: PostgresType { .bytea }
  /// Appends the bytes unchanged.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}

extension ArraySlice<UInt8>: PostgresValue {
  /// bytea
  public static var postgresType: PostgresType { .bytea }
  /// Appends the bytes unchanged.
  @inlinable public func encode(into bytes: inout [UInt8]) { bytes.append(contentsOf: self) }
}
