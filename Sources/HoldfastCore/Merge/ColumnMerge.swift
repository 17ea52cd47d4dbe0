/// An edit of one column, as received by the server.
package struct ColumnEdit: Hashable, Sendable {
  /// The new value.
  package let value: Value
  /// The value before the edit, on the device that made it; nil if unknown.
  package let base: Value?
  /// The `rev` of the record that the edit is based on.
  package let rev: Int64
  /// The time of the edit, limited by the server's clock.
  package let stamp: Stamp
  /// The server's number of the device.
  package let device: Int64
  /// Whether the edits of the device follow each other, so that its own last change is known to this one. Behind a token of REST there may be
  /// several people.
  package let isSequential: Bool

  /// Creates an edit.
  package init(
    value: Value, base: Value?, rev: Int64, stamp: Stamp, device: Int64, isSequential: Bool = true
  ) {
    self.value = value
    self.base = base
    self.rev = rev
    self.stamp = stamp
    self.device = device
    self.isSequential = isSequential
  }

  /// Whether the edit is later than the last change. Ties are broken by device number.
  package func isLater(than last: ColumnStamp) -> Bool { (stamp, device) > (last.stamp, last.device) }
}

/// The outcome of merging an edit of one column.
package enum ColumnMerge: Hashable, Sendable {
  /// The column already has this value.
  case unchanged
  /// No concurrent edit: the edit is applied.
  case applied
  /// A concurrent edit loses: this edit is applied, and the replaced value is logged.
  case won
  /// A concurrent edit wins: the column keeps its value, and this edit is logged.
  case lost
  /// Both edits are combined into one value, which can equal the current one. They are logged only if the combination is lossy.
  case combined(Combination)
  /// There is a concurrent edit, and the team's resolver must decide.
  case resolving
  /// The edits can't be combined: the sum of increments exceeds 64 bits.
  case impossible

  /// Decides. Pure: the same everywhere.
  ///
  /// - Parameters:
  ///   - current: the column's value on the server.
  ///   - last: the stamp of its last change.
  ///   - edit: the edit that arrives.
  ///   - policy: the column's policy.
  package static func decide(current: Value, last: ColumnStamp, edit: ColumnEdit, policy: MergePolicy)
    -> ColumnMerge
  {
    if let base = edit.base, let merge = combine(base, current, last, edit, policy) { return merge }
    if current == edit.value { return .unchanged }
    if edit.isSequential, last.isBy(edit.device, upTo: edit.stamp) { return .applied }
    // The base decides before the `rev`: an unconfirmed older edit of the device may have hidden the value of that `rev`.
    let isKnown = edit.base.map { $0 == current } ?? (last.rev <= edit.rev)
    if isKnown { return .applied }
    switch policy {
    case .latest, .counter, .set, .text: return edit.isLater(than: last) ? .won : .lost
    case .client: return .won
    case .server, .ask: return .lost
    case .resolver: return .resolving
    }
  }

  /// Merges by the combining policies, for an edit with a base. The device of the last change does not matter: its previous edit may
  /// already be combined with another device's.
  private static func combine(
    _ base: Value, _ current: Value, _ last: ColumnStamp, _ edit: ColumnEdit, _ policy: MergePolicy
  ) -> ColumnMerge? {
    let combination = policy.combined(
      base: base, mine: edit.value, theirs: current, minePrevails: edit.isLater(than: last))
    guard let combination else { return policy == .counter ? .impossible : nil }
    if combination.isLossy || combination.value != edit.value { return .combined(combination) }
    return combination.value == current ? .unchanged : .applied
  }
}
