public import HoldfastCore
public import HoldfastSQLite

// Writes that merge with those of other devices: each is recorded as the step that it takes, and not as the value that it leads to, where the column
// has a policy for that (docs/PROTOCOL.md, section 5.1).
extension Database {
  /// Inserts a record, or, where one of its id is on the device, gives that one the columns that differ.
  ///
  /// Only columns that differ become edits, so what others write meanwhile in other columns stays.
  /// ```swift
  /// try await store.write { try $0.upsert(Settings(id: settingsID, theme: "dark")) }
  /// ```
  /// - Throws: `StoreError.valueUnfit` for a value that its column can't hold; `SQLiteError` when a constraint forbids it.
  public func upsert<R: Record>(_ record: R) throws {
    guard let known = try find(R.self, id: record.id) else { return try insert(record) }
    let changed = try RowEncoder.changes(
      from: RowEncoder.encode(known, in: schema), to: record, in: schema)
    try local.rows.update(changed, of: record.id, in: R.table)
  }

  /// Changes a record that a person has seen for a while, for example in a form. Others may have changed it meanwhile.
  ///
  /// Only columns that `change` gives other values become edits. Where the record has another value by now than the person saw, the column gets
  /// both edits if its policy combines them (`counter`, `set`, `text`), and else the value of `change`. Of a text in which both changed the same
  /// words, it gets those of `change`.
  /// ```swift
  /// try await store.write { try $0.update(from: item) { $0.note = typed } }
  /// ```
  /// - Parameters:
  ///   - seen: the record as the person saw it.
  ///   - change: is given `seen`.
  /// - Returns: the record after the change.
  /// - Throws: `StoreError.recordMissing` when it is not on the device; `valueUnfit` for a value that its column can't hold.
  @discardableResult
  public func update<R: Record>(from seen: R, _ change: (inout R) throws -> Void) throws -> R {
    guard let now = try find(R.self, id: seen.id) else { throw missing(seen.id, R.table) }
    let before = try RowEncoder.encode(seen, in: schema)
    let current = try RowEncoder.encode(now, in: schema)
    var record = seen
    try change(&record)
    let table = schema.table(R.table)
    let changed = try RowEncoder.changes(from: before, to: record, in: schema).map {
      (name, value) -> (name: String, value: SQLiteValue) in
      guard let base = before.first(where: { $0.name == name })?.value,
        let theirs = current.first(where: { $0.name == name })?.value, theirs != base
      else { return (name, value) }
      let both = table?.columns.first { $0.name == name }?.policy.combined(
        base: Value(base), mine: Value(value), theirs: Value(theirs), minePrevails: true)
      return (name, both.map { SQLiteValue($0.value) } ?? value)
    }
    try local.rows.update(changed, of: seen.id, in: R.table)
    return try find(R.self, id: seen.id) ?? record
  }

  /// Adds to a counter of a record. Increments of several devices add up.
  ///
  /// ```swift
  /// try await store.write { try $0.increment(Item.self, id: milk, \.amount, by: 2) }
  /// ```
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - id: the id of the record.
  ///   - path: a property whose column has the policy `counter`.
  ///   - amount: what is added; less than 0 to take away.
  /// - Throws: `StoreError.recordMissing` when the record is not on the device; `valueUnfit` for a column that is no counter, or a sum of more
  ///   than 64 bits.
  public func increment<R: Record, V: Codable & Equatable & Sendable>(
    _ type: R.Type, id: String, _ path: any KeyPath<R, V> & Sendable, by amount: Int64 = 1
  ) throws {
    let column = try ColumnPath.column(path)
    let (table, _) = try place(of: column, .counter, in: R.table)
    guard try local.row(table, id) != nil else { throw missing(id, R.table) }
    try increment(R.table, id: id, column, by: amount, orCreate: [:])
  }

  /// Adds an element to a set of a record. What several devices add is all in it in the end.
  ///
  /// ```swift
  /// try await store.write { try $0.append(Item.self, id: milk, \.tags, "breakfast") }
  /// ```
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - id: the id of the record.
  ///   - path: a property whose column has the policy `set`.
  ///   - element: one that is in it already changes nothing.
  /// - Throws: `StoreError.recordMissing` when the record is not on the device; `valueUnfit` for a column that is no set.
  public func append<R: Record, V: Codable & Equatable & Sendable>(
    _ type: R.Type, id: String, _ path: any KeyPath<R, V> & Sendable, _ element: String
  ) throws {
    try changeSet(of: R.table, id, ColumnPath.column(path)) { $0.insert(Array(element.utf8)) }
  }

  /// Removes an element from a set of a record. Other elements that other devices add or remove meanwhile are not touched.
  ///
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - id: the id of the record.
  ///   - path: a property whose column has the policy `set`.
  ///   - element: one that is not in it changes nothing.
  /// - Throws: as `append`.
  public func remove<R: Record, V: Codable & Equatable & Sendable>(
    _ type: R.Type, id: String, _ path: any KeyPath<R, V> & Sendable, _ element: String
  ) throws {
    try changeSet(of: R.table, id, ColumnPath.column(path)) { $0.remove(Array(element.utf8)) }
  }

  private func changeSet(
    of table: String, _ id: String, _ column: String, _ change: (inout Set<[UInt8]>) -> Void
  ) throws {
    let (index, place) = try place(of: column, .set, in: table)
    guard let record = try local.row(index, id) else { throw missing(id, table) }
    guard var elements = MergePolicy.elements(record.values[place]) else {
      throw StoreError(.valueUnfit, "\(table).\(column) of the record \(id) holds no set of texts.")
    }
    let before = elements
    change(&elements)
    if elements == before { return }
    try local.rows.update(index, id, [column: SQLiteValue(MergePolicy.json(of: elements))])
  }

  /// The numbers of a table, and of a column of it that has a policy.
  private func place(of column: String, _ policy: MergePolicy, in table: String) throws -> (Int, Int) {
    guard let index = schema.index(of: table), let place = schema.tables[index].index(of: column),
      schema.tables[index].columns[place].policy == policy
    else { throw StoreError(.valueUnfit, "\(table).\(column) is no \(policy.rawValue) of the schema.") }
    return (index, place)
  }

  private func missing(_ id: String, _ table: String) -> StoreError {
    StoreError(.recordMissing, "There is no record \(id) in \(table) on this device.")
  }

  /// Adds to a counter of a record, or creates the record where it is not on the device.
  ///
  /// Devices that do so offline, under one id that all of them work out, make one record together, with the sum of what they added: see
  /// `Identifier.derived(from:)`.
  /// - Parameters:
  ///   - table: the name of the table.
  ///   - id: the id of the record.
  ///   - column: a column with the policy `counter`.
  ///   - amount: what is added to it; a new record begins with the column's default.
  ///   - columns: the other columns of a new record.
  /// - Throws: `StoreError.valueUnfit` for a table or column that is none, or a sum of more than 64 bits; `SQLiteError` when a constraint forbids
  ///   it.
  public func increment(
    _ table: String, id: String, _ column: String, by amount: Int64 = 1,
    orCreate columns: TextMap<SQLiteValue>
  ) throws {
    let (index, place) = try place(of: column, .counter, in: table)
    let definition = schema.tables[index].columns[place]
    let known = try local.row(index, id)
    var before: Int64 = 0
    if case .integer(let number)? = known?.values[place] ?? definition.defaultValue { before = number }
    let (sum, overflow) = before.addingReportingOverflow(amount)
    if overflow { throw StoreError(.valueUnfit, "\(table).\(column) would have more than 64 bits.") }
    if known != nil { return try local.rows.update(index, id, [column: .integer(sum)]) }
    var values = columns
    values[column] = .integer(sum)
    try local.rows.insert(index, id, values)
  }
}
