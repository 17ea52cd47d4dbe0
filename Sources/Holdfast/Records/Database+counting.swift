public import HoldfastCore
public import HoldfastSQLite

extension Database {
  /// Adds to a counter of a record, or creates the record where it is not on the device.
  ///
  /// Devices that do so offline, under one id that all of them work out, make one record together, with the sum of what they added: see
  /// `Identifier.derived(from:)`.
  /// - Parameters:
  ///   - column: a column with the policy `counter`.
  ///   - amount: what is added to it; a new record begins with the column's default.
  ///   - columns: the other columns of a new record.
  /// - Throws: `StoreError.valueUnfit` for a table or column that is none, or a sum of more than 64 bits; `SQLiteError` when a constraint forbids
  ///   it.
  public func increment(
    _ table: String, id: String, _ column: String, by amount: Int64 = 1,
    orCreate columns: TextMap<SQLiteValue>
  ) throws {
    guard let index = local.schema.index(of: table),
      let definition = local.schema.tables[index].columns.first(where: { $0.name == column }),
      definition.policy == .counter
    else { throw StoreError(.valueUnfit, "\(table).\(column) is no counter of the schema.") }
    let known = try local.row(index, id)
    let place = local.schema.tables[index].index(of: column) ?? 0
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
