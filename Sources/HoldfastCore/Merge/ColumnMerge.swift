/// An edit of one column, as it reaches the server.
public struct ColumnEdit: Hashable, Sendable {
  /// The new value.
  public let value: Value
  /// The value that the editor saw before; nil when it is not known.
  public let base: Value?
  /// The rev of the record that the edit was based on.
  public let rev: Int64
  /// When the edit was made, already bounded by the server's clock.
  public let stamp: Stamp
  /// The server's number of the device.
  public let device: Int64

  /// An edit of its parts.
  public init(value: Value, base: Value?, rev: Int64, stamp: Stamp, device: Int64) {
    self.value = value
    self.base = base
    self.rev = rev
    self.stamp = stamp
    self.device = device
  }

  /// Whether the edit is later than the last change; the greater device decides between two of one moment.
  public func isLater(than last: ColumnStamp) -> Bool { (stamp, device) > (last.stamp, last.device) }
}

/// What becomes of an edit of one column.
public enum ColumnMerge: Hashable, Sendable {
  /// The column has this value already.
  case unchanged
  /// Nobody else changed the column since: the edit is applied.
  case applied
  /// Somebody else did, and the edit wins: it is applied, and the value it replaces is logged.
  case won
  /// Somebody else did, and keeps the column: the edit is logged.
  case lost
  /// The column gets a value that holds both edits. It may be the one that is there, though not the edit's. Both are logged only where it lacks something of one.
  case combined(Combination)
  /// Somebody else did, and the team's function is to be asked.
  case resolving
  /// The two edits together are no value: increments whose sum has more than 64 bits.
  case impossible

  /// Decides. Pure: the same everywhere.
  ///
  /// - Parameters:
  ///   - current: the column's value on the server.
  ///   - last: the stamp of its last change.
  ///   - edit: the edit that arrives.
  ///   - policy: the column's policy.
  public static func decide(current: Value, last: ColumnStamp, edit: ColumnEdit, policy: MergePolicy)
    -> ColumnMerge
  {
    if let base = edit.base, let merge = combine(base, current, last, edit, policy) { return merge }
    if current == edit.value { return .unchanged }
    if last.device == edit.device { return .applied }
    // What the editor saw says more than the rev: the record may have been read while an older edit of one's own still hid its value.
    let isKnown = edit.base.map { $0 == current } ?? (last.rev <= edit.rev)
    if isKnown { return .applied }
    switch policy {
    case .latest, .counter, .set, .text: return edit.isLater(than: last) ? .won : .lost
    case .client: return .won
    case .server, .ask: return .lost
    case .resolver: return .resolving
    }
  }

  /// What the policies make that combine an edit, with its base, with what is there. Who changed the column last says nothing here: a
  /// device's own edit before this one may have been combined with somebody else's.
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
