import HoldfastSQLite

/// Some records of one table, in an order: a query for the common cases. For others write `SQL`.
///
/// ```swift
/// let next = Item.where(\.list_id == list && \.done == false).order(by: \.position).limit(20)
/// let items = try await store.read { try $0.fetch(next) }
/// for try await items in store.live(next) { show(items) }
/// ```
/// A live selection runs again only after a change of one of its records, or of one that becomes one of them; one whose condition reads other rows, after
/// each change of a table that it reads.
public struct RecordSelection<R: Record>: Sendable {
  private var condition: RecordCondition<R>?
  private var orders: [@Sendable () throws -> SQL] = []
  private var bound: (count: Int, offset: Int)?

  init() {}

  /// Those of the records for which a condition holds too.
  public func `where`(_ condition: RecordCondition<R>) -> RecordSelection {
    var selection = self
    selection.condition = self.condition.map { $0 && condition } ?? condition
    return selection
  }

  /// The records in the order of a property; where they are equal, in the order that is asked for after it, and at last by their ids.
  public func order<V: Codable & Equatable & Sendable>(
    by path: any KeyPath<R, V> & Sendable, descending: Bool = false
  ) -> RecordSelection {
    var selection = self
    selection.orders.append {
      "\(identifier: try ColumnPath.column(path))\(unsafe: descending ? " DESC" : "")"
    }
    return selection
  }

  /// At most so many of the records, after so many that are left out.
  public func limit(_ count: Int, offset: Int = 0) -> RecordSelection {
    var selection = self
    selection.bound = (count, offset)
    return selection
  }

  /// Whether a record is selected, or not, by its own row alone. With an offset, a record that is left out may move the others.
  var looksAtRowsAlone: Bool { (bound?.offset ?? 0) == 0 && condition?.readsOthers != true }

  /// The condition, after WHERE.
  func test() throws -> SQL { try condition?.sql() ?? "TRUE" }

  /// The whole query.
  ///
  /// - Parameter withRowNumbers: whether it also reads, as the first column, the number of each row, which the rows of several files do not have.
  func query(withRowNumbers: Bool = false) throws -> SQL {
    var sql: SQL =
      "SELECT \(unsafe: withRowNumbers ? "rowid, " : "")* FROM \(R.self) WHERE \(try test())"
    if !orders.isEmpty || bound != nil {
      sql = sql + " ORDER BY "
      for order in orders { sql = "\(sql)\(try order()), " }
      sql = sql + "\"id\""
    }
    if let bound { sql = "\(sql) LIMIT \(bound.count) OFFSET \(bound.offset)" }
    return sql
  }

  /// How many records there are of it.
  func counting() throws -> SQL { "SELECT count(*) FROM (\(try query()))" }
}

extension Record {
  /// All records of the table: `store.live(Item.all)`.
  public static var all: RecordSelection<Self> { RecordSelection() }

  /// The records for which a condition holds: `Item.where(\.done == false)`.
  public static func `where`(_ condition: RecordCondition<Self>) -> RecordSelection<Self> {
    all.where(condition)
  }

  /// All records in the order of a property: `Item.order(by: \.position)`.
  public static func order<V: Codable & Equatable & Sendable>(
    by path: any KeyPath<Self, V> & Sendable, descending: Bool = false
  ) -> RecordSelection<Self> {
    all.order(by: path, descending: descending)
  }
}
