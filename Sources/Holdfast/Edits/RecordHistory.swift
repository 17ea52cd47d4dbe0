import HoldfastCore
import HoldfastSQLite

/// The edits of one record that the server has not confirmed, as steps from the server's record to the one that the device shows. Pure.
///
/// The database keeps of each step only what was there before it. So what each step made is found by going back from what is there
/// now; then steps can be left out, or the server's record replaced, and the rest is taken again.
struct RecordHistory {
  /// What a step does to the record.
  private enum Change {
    /// A column gets a value; nil where it is not known, as the record was gone by then.
    case update(column: String, base: SQLiteValue, new: SQLiteValue?)
    case create(RecordState?)
    /// What the record was before.
    case remove(RecordState)
  }

  private struct Step {
    let edit: Edit
    var change: Change
  }

  /// The record before the first step; nil when there was none.
  private(set) var base: RecordState?
  private var steps: [Step] = []
  private let policies: TextMap<MergePolicy>

  /// - Parameters:
  ///   - edits: of one record, oldest first.
  ///   - current: the record as it is here; nil when it is not.
  ///   - policies: of the columns that combine two edits; the others may be left out.
  init(_ edits: [Edit], current: RecordState?, policies: TextMap<MergePolicy> = [:]) {
    self.policies = policies
    for edit in edits {
      switch edit.kind {
      case .create: steps.append(Step(edit: edit, change: .create(nil)))
      case .update, .detached:
        steps.append(Step(edit: edit, change: .update(column: edit.column, base: edit.base, new: nil)))
      case .delete, .hidden, .covered:
        // A deletion is one row, then one for each column.
        if edit.column.isEmpty {
          steps.append(
            Step(edit: edit, change: .remove(RecordState(zone: edit.base, rev: edit.rev, values: [:]))))
        } else if let last = steps.indices.last, case .remove(var before) = steps[last].change {
          before.values[edit.column] = edit.base
          steps[last].change = .remove(before)
        }
      }
    }
    base = current
    for index in steps.indices.reversed() {
      switch steps[index].change {
      case .update(let column, let before, _):
        steps[index].change = .update(column: column, base: before, new: base?.values[column])
        base?.values[column] = before
      case .create:
        steps[index].change = .create(base)
        base = nil
      case .remove(let before): base = before
      }
    }
    // Replaying a create says again what it covers.
    steps.removeAll { $0.edit.kind == .covered }
    combineUpdates()
  }

  /// What a change set does to a column in several steps is one to the server: from the base of the first to what the last made.
  private mutating func combineUpdates() {
    var combined: [Step] = []
    var places: TextMap<Int> = [:]
    for step in steps {
      guard step.edit.kind == .update, case .update(let column, _, let new) = step.change else {
        places = [:]
        combined.append(step)
        continue
      }
      if let place = places[column], combined[place].edit.changeSet == step.edit.changeSet,
        case .update(_, let base, _) = combined[place].change
      {
        combined[place].change = .update(column: column, base: base, new: new)
      } else {
        places[column] = combined.count
        combined.append(step)
      }
    }
    steps = combined
  }

  /// Whether the record's last life began or ended here, by the last such step; nil when there is none.
  var endsWithCreate: Bool? {
    for step in steps.reversed() {
      switch step.change {
      case .create: return true
      case .remove: return false
      case .update: continue
      }
    }
    return nil
  }

  /// Leaves out the steps of some change sets.
  mutating func drop(_ changeSets: [Int64]) {
    steps.removeAll { step in changeSets.contains { $0 == step.edit.changeSet } }
  }

  /// Leaves out what follows from the deletion of other records.
  mutating func dropConsequences() {
    steps.removeAll { $0.edit.kind == .hidden || $0.edit.kind == .detached }
  }

  /// The change sets that update columns whose policy combines.
  var combiningSets: Set<Int64> {
    Set(
      steps.lazy.filter { $0.edit.kind == .update && policies[$0.edit.column]?.combines == true }
        .compactMap(\.edit.changeSet))
  }

  /// What a column's step comes to on top of another value: as on the server, where the column's policy combines, else what it was.
  ///
  /// - Parameters:
  ///   - said: the step as the server hears it.
  ///   - new: what it came to last, which stays where the values can't be combined.
  private func taken(
    _ column: String, _ said: SealedColumns.Value, else new: SQLiteValue, on here: SQLiteValue?
  ) -> SQLiteValue {
    guard let here, here != said.base, let policy = policies[column] else { return said.new }
    let combined = policy.combined(
      base: Value(said.base), mine: Value(said.new), theirs: Value(here), minePrevails: true)
    return combined.map { SQLiteValue($0.value) } ?? new
  }

  /// Takes the steps that are left, from another beginning.
  ///
  /// - Parameter sealed: what `combiningSets` say of the record, by their numbers.
  /// - Returns: the record as it is to be here, and its edits with what they are based on now.
  func replayed(
    from beginning: RecordState?, sealed: [Int64: SealedColumns] = [:]
  ) -> (record: RecordState?, edits: [Edit]) {
    var state = beginning
    var edits: [Edit] = []
    for step in steps {
      switch step.change {
      case .update(let column, let before, let new):
        let here = state?.values[column]
        edits.append(step.edit.with(base: here ?? before))
        let said = step.edit.changeSet.flatMap { sealed[$0]?[column] }
        if let new { state?.values[column] = taken(column, said ?? (before, new), else: new, on: here) }
      case .create(let new):
        // Where a record is already, the server merges; it comes back if the create is rolled back.
        if let here = state { edits += Edit.deletion(of: here, like: step.edit) }
        edits.append(step.edit)
        if var made = new ?? state {
          if let here = state {
            (made.zone, made.rev) = (here.zone, here.rev)
            // A null of a create says nothing: the server may have filled the column in.
            made.values.merge(here.values) { $0 == .null ? $1 : $0 }
          }
          state = made
        }
      case .remove:
        // Where there is none, the deletion has nothing to put back.
        if let here = state { edits += Edit.deletion(of: here, like: step.edit) }
        state = nil
      }
    }
    return (state, edits)
  }
}
