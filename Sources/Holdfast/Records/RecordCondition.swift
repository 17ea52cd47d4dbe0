import HoldfastSQLite

/// A condition on records, made of key paths to their properties and of values.
///
/// ```swift
/// let open = Item.where(\.done == false && \.price > 3 || .in(\.id, chosen))
/// let milk = Item.where(.sql("title LIKE \("%milk%")"))
/// ```
/// `==` and `!=` treat `nil` as a value; the other comparisons with `nil` hold for no record. Texts compare by their bytes.
/// A key path names a stored property of the record, whose coding key is the column.
public struct RecordCondition<R: Record>: Sendable {
  let sql: @Sendable () throws -> SQL
  /// Whether other rows than the record's own may decide.
  let readsOthers: Bool

  fileprivate init(readsOthers: Bool = false, _ sql: @escaping @Sendable () throws -> SQL) {
    (self.readsOthers, self.sql) = (readsOthers, sql)
  }

  /// A condition of plain SQL, which may name the table's columns.
  public static func sql(_ sql: SQL) -> RecordCondition {
    RecordCondition(readsOthers: SQLWords.of(sql.text).contains("SELECT")) { "(\(sql))" }
  }

  /// Whether a property is one of some values.
  public static func `in`<V: Codable & Equatable & Sendable>(
    _ path: any KeyPath<R, V> & Sendable, _ values: [V]
  ) -> RecordCondition {
    RecordCondition { "\(identifier: try ColumnPath.column(path)) IN \(list: values)" }
  }

  static func compare<V: Codable & Equatable & Sendable>(
    _ path: any KeyPath<R, V> & Sendable, _ sign: String, _ value: V
  ) -> RecordCondition {
    RecordCondition { "\(identifier: try ColumnPath.column(path)) \(unsafe: sign) \(value)" }
  }
}

/// Whether a property has a value; `nil` is NULL.
public func == <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, "IS", value) }

/// Whether a property has another value; `nil` is NULL.
public func != <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, "IS NOT", value) }

/// Whether a property is less than a value.
public func < <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, "<", value) }

/// Whether a property is at most a value.
public func <= <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, "<=", value) }

/// Whether a property is greater than a value.
public func > <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, ">", value) }

/// Whether a property is at least a value.
public func >= <R: Record, V: Codable & Equatable & Sendable>(
  path: any KeyPath<R, V> & Sendable, value: V
) -> RecordCondition<R> { .compare(path, ">=", value) }

/// Whether both conditions hold.
public func && <R: Record>(left: RecordCondition<R>, right: RecordCondition<R>) -> RecordCondition<R> {
  RecordCondition(readsOthers: left.readsOthers || right.readsOthers) {
    "(\(try left.sql()) AND \(try right.sql()))"
  }
}

/// Whether one of two conditions holds, or both.
public func || <R: Record>(left: RecordCondition<R>, right: RecordCondition<R>) -> RecordCondition<R> {
  RecordCondition(readsOthers: left.readsOthers || right.readsOthers) {
    "(\(try left.sql()) OR \(try right.sql()))"
  }
}

/// Whether a condition does not hold.
public prefix func ! <R: Record>(condition: RecordCondition<R>) -> RecordCondition<R> {
  RecordCondition(readsOthers: condition.readsOthers) { "NOT (\(try condition.sql()))" }
}
