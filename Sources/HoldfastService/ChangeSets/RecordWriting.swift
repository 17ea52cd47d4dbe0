import HoldfastCore

/// Writes records, and checks values that are unique in a zone. The check runs after all operations, so their order does not matter: a set
/// may swap or rotate values, or reuse a freed value.
struct RecordWriting: ChangeSetPart {
  let run: ChangeSetRun

  /// The number of values to try for a proposal.
  private static let tries = 20

  /// Adds a record.
  func insert(_ record: StoredRecord) throws {
    try removeTombstone(of: record)
    try stores.insert(record)
    noteUnique(record, over: nil)
    try ReferenceRules(run: run).checkReferences(of: record, over: nil)
    run.note(record)
  }

  /// Replaces an existing record.
  ///
  /// - Parameters:
  ///   - old: the previous state.
  ///   - isValidated: whether the team's validators check the record.
  func replace(_ record: StoredRecord, over old: StoredRecord, isValidated: Bool = true) throws {
    if record.zone != old.zone { try removeTombstone(of: record) }
    try stores.update(record, over: old)
    noteUnique(record, over: old)
    try ReferenceRules(run: run).checkReferences(of: record, over: old)
    if isValidated { run.note(record) }
  }

  /// Removes an earlier deletion or departure of the record from its zone. A record is only once in a zone's changes.
  private func removeTombstone(of record: StoredRecord) throws {
    if try stores.transaction.isNowhere(Footprint.Key(table: record.table, id: record.id)) { return }
    try stores.tombstones.remove(record.id, of: schema.tables[record.table].name, in: record.zone)
  }

  /// Records that a record's unique values are new.
  private func noteUnique(_ record: StoredRecord, over old: StoredRecord?) {
    if schema.tables[record.table].unique.isEmpty { return }
    let table = schema.tables[record.table]
    let isNew = table.unique.contains { group in
      guard let old, old.zone == record.zone else { return true }
      return group.contains { name in
        table.index(of: name).map { old.values[$0] != record.values[$0] } ?? false
      }
    }
    if !isNew { return }
    let key = Footprint.Key(table: record.table, id: record.id)
    run.uniqueWritten[key] = run.current
    run.uniqueInDoubt.insert(key)
  }

  /// Checks all new unique values.
  ///
  /// - Throws: `Problem.uniqueTaken`, attributed to the last operation that took the value.
  func checkUnique() throws {
    for (key, operation) in run.uniqueWritten.sorted(by: { $0.value < $1.value }) {
      guard let record = try stores.tables[key.table].record(key.id) else { continue }
      for group in schema.tables[key.table].unique {
        // If both values are new, the later operation is at fault.
        let other = try holder(of: group, like: record) { id in
          run.uniqueWritten[Footprint.Key(table: key.table, id: id)].map { $0 <= operation } ?? true
        }
        guard let other else { continue }
        throw run.blame(operation, try taken(group, of: record, by: other))
      }
    }
  }

  /// Whether two records share a unique value at the moment; a later operation may still resolve it. Only a write can cause a clash, so a
  /// record without a clash is not checked again until it is written.
  func hasUniqueClash() throws -> Bool {
    // It ends at the first clash: a set may make as many as it has operations, and this is asked after each.
    while let key = run.uniqueInDoubt.first {
      if let record = try stores.tables[key.table].record(key.id),
        try schema.tables[key.table].unique.contains(where: {
          try holder(of: $0, like: record, isAny: true) != nil
        })
      {
        return true
      }
      run.uniqueInDoubt.remove(key)
    }
    return false
  }

  /// Another record with the same values of a unique group. Null never equals another value.
  private func holder(
    of group: [String], like record: StoredRecord, isAny: Bool = false,
    where isRelevant: (String) -> Bool = { _ in true }
  ) throws -> String? {
    let table = stores.tables[record.table]
    if group.contains(where: { table.table.index(of: $0).map { record.values[$0] == .null } ?? true }) {
      return nil
    }
    return try table.holder(of: group, like: record, isAny: isAny, where: isRelevant)
  }

  private func taken(_ columns: [String], of record: StoredRecord, by other: String) throws -> Problem {
    var problem = Problem(
      .uniqueTaken, "\(schema.tables[record.table].name): \(columns.joined(separator: ", "))")
    var taken = TakenValue(record: other, columns: columns)
    taken.proposal = try proposal(for: record, columns)
    problem.taken = taken
    return problem
  }

  private func proposal(for record: StoredRecord, _ columns: [String]) throws -> TakenValue.Proposal? {
    let store = stores.tables[record.table]
    let indexes = columns.compactMap { store.table.index(of: $0) }
    guard !store.table.isBuiltIn, let index = indexes.first(where: { store.table.columns[$0].type == .text }),
      let text = record.values[index].text
    else { return nil }
    let column = store.table.columns[index]
    var candidate = record
    for number in 2..<(2 + Self.tries) {
      let value = "\(text) \(number)"
      candidate.values[index] = .text(value)
      // Later candidates would violate the same check.
      do { try column.check(candidate.values[index]) } catch { return nil }
      if try store.holder(of: columns, like: candidate) == nil {
        return .init(column: column.name, value: value)
      }
    }
    return nil
  }
}
