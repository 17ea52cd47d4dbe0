import HoldfastCore

extension Updating {
  /// Merges the edit of one column, by the column's policy.
  func decide(_ index: Int, _ column: ColumnSchema, _ edit: ColumnEdit, _ merge: inout RecordMerge)
    throws
  {
    let (current, last) = (merge.record.values[index], merge.stamps[column.name])
    switch column.policy {
    case .set: run.work.addElements(edit.base, edit.value, current)
    case .text where edit.base == nil: break
    case .text: run.work.addMerge(edit.base, edit.value, current)
    default: if column.type == .json { run.work.addMerge(edit.value, current) }
    }
    switch ColumnMerge.decide(current: current, last: last, edit: edit, policy: column.policy) {
    case .unchanged: return
    case .applied: merge.set(index, named: column.name, to: edit.value, by: edit.stamp, of: edit.device)
    case .won:
      Trace.took(.mergeWon)
      merge.note(overlap(index, column, edit, current, last, editWins: true))
      merge.set(index, named: column.name, to: edit.value, by: edit.stamp, of: edit.device)
    case .lost:
      Trace.took(.mergeLost)
      var overlap = overlap(index, column, edit, current, last, editWins: false)
      overlap.isWinnerInRecord = true
      merge.note(overlap)
    case .combined(let combination):
      Trace.took(.mergeCombined)
      if combination.isLossy {
        merge.note(overlap(index, column, edit, current, last, editWins: edit.isLater(than: last)))
      }
      try set(index, column, to: combination.value, of: edit, &merge)
    case .resolving: try run.resolve(index, column, edit, &merge)
    case .impossible: throw Problem(.invalidValue, "\(column.name) would have more than 64 bits.")
    }
  }

  /// Sets a column to the combination of an edit and the current value.
  ///
  /// The result's stamp is the later of the two. Unless the result equals the edit, it belongs to no device, so that the next edit of
  /// either device conflicts with it.
  func set(
    _ index: Int, _ column: ColumnSchema, to value: Value, of edit: ColumnEdit, _ merge: inout RecordMerge
  )
    throws
  {
    let (current, last) = (merge.record.values[index], merge.stamps[column.name])
    if value == current { return merge.leave() }
    do { try column.check(value) } catch {
      throw Problem(.invalidValue, "Both edits together: \(error.detail)")
    }
    merge.set(
      index, named: column.name, to: value, by: max(edit.stamp, last.stamp),
      of: value == edit.value ? edit.device : 0)
  }

  /// The conflict of an edit with the current value, for the log.
  func overlap(
    _ index: Int, _ column: ColumnSchema, _ edit: ColumnEdit, _ current: Value, _ last: ColumnStamp,
    editWins: Bool
  ) -> Overlap {
    let mine = Overlap.Side(value: edit.value, device: edit.device, stamp: edit.stamp)
    let theirs = Overlap.Side(value: current, device: last.device, stamp: last.stamp)
    return Overlap(
      column: index, policy: column.policy.rawValue, base: edit.base, winner: editWins ? mine : theirs,
      loser: editWins ? theirs : mine)
  }
}
