package import HoldfastCore

extension ChangeSetRun {
  /// Calls the team's resolver for two concurrent edits of a column.
  package func resolve(_ index: Int, _ column: ColumnSchema, _ edit: ColumnEdit, _ merge: inout RecordMerge)
    throws
  {
    let table = schema.tables[merge.record.table]
    guard let resolver = stores.rules.resolver(of: column.name, in: table.name) else {
      throw ServerError(.rulesMissing, "No resolver for \(table.name).\(column.name).")
    }
    let (current, last) = (merge.record.values[index], merge.stamps[column.name])
    let record = RuledRecord(merge.record, table)
    let value = try ask(table) {
      let answer = try resolver(
        edit.base.map { column.json(of: $0) }, column.json(of: edit.value), column.json(of: current), record)
      return try JSONReader.read(answer.bytes) { try column.value(from: &$0) }
    }
    let isEdit = value == edit.value
    let editWins = isEdit || value != current && edit.isLater(than: last)
    Trace.took(isEdit ? .mergeWon : value == current ? .mergeLost : .mergeCombined)
    var overlap = Updating(run: self).overlap(index, column, edit, current, last, editWins: editWins)
    overlap.isWinnerInRecord = value == current
    merge.note(overlap)
    try Updating(run: self).set(index, column, to: value, of: edit, &merge)
  }

  /// Calls the team's validators for every record that the set created or changed, in its final state.
  func validate() throws {
    for (key, operation) in written.sorted(by: { $0.value < $1.value }) {
      let table = schema.tables[key.table]
      guard let validator = stores.rules.validator(of: table.name),
        let record = try stores.tables[key.table].record(key.id)
      else { continue }
      do { try ask(table) { try validator(RuledRecord(record, table)) } } catch let problem as Problem {
        throw blame(operation, problem)
      }
    }
  }

  /// Records that a record must be validated.
  package func note(_ record: StoredRecord) {
    if !stores.rules.hasValidators { return }
    let key = Footprint.Key(table: record.table, id: record.id)
    if written[key] == nil { written[key] = current }
  }

  /// Calls a function of the team. Any error that it throws refuses the set, because a failure would block the device's queue forever.
  private func ask<Answer>(_ table: TableSchema, _ body: () throws -> Answer) throws -> Answer {
    do { return try body() } catch let refusal as ValidationError {
      throw Problem(.validationFailed, refusal.detail)
    } catch let problem as Problem {
      throw problem
    } catch {
      stores.rules.log("A rule of \(table.name) failed: \(error)")
      throw Problem(.validationFailed, "A rule of \(table.name) failed.")
    }
  }
}
