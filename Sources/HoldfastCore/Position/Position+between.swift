extension Position {
  /// Makes a position between two neighbours of a list. Pure.
  ///
  /// The result is strictly between its neighbours, and differs from every other replica's. Runs that replicas concurrently insert at the
  /// same place do not interleave, whether they grow forward, backward or both.
  ///
  /// If `left` is not before `right`, the result comes after `left`, and `right` is ignored. If every position between two neighbours would
  /// exceed ``maximumLength``, the result equals `left`. Ids then decide, so the list still has one order on all devices.
  ///
  /// - Parameters:
  ///   - left: the preceding neighbour; nil at the start of the list.
  ///   - right: the following neighbour; nil at the end of the list.
  ///   - replica: this device.
  ///   - nonce: random bits, new for each call. They distinguish positions that a replica makes between the same neighbours: a view may
  ///     hide a record between them, or the first one was deleted or moved.
  /// - Returns: a position of at most ``maximumLength`` bytes.
  public static func between(
    _ left: Position?, _ right: Position?, replica: Replica, nonce: UInt64
  ) -> Position {
    var gap = PositionGap(
      left: left.map(PositionPath.init) ?? PositionPath(), right: right.map(PositionPath.init),
      replica: replica, nonce: nonce)
    if let left, let right, left >= right {
      gap.right = nil
      return bounded(gap.belowLeft(), in: gap, elseEqualTo: left)
    }
    return bounded(gap.fill(), in: gap, elseEqualTo: left ?? right)
  }

  /// Makes `count` places in a row between two neighbours, for a paste or an import; see ``between(_:_:replica:nonce:)``.
  ///
  /// - Parameters:
  ///   - count: how many; none when it isn't positive.
  ///   - left: the neighbour before them; nil at the list's start.
  ///   - right: the neighbour behind them; nil at the list's end.
  ///   - replica: the name of the device.
  ///   - nonce: random bits.
  /// - Returns: the positions in ascending order.
  public static func run(
    count: Int, between left: Position?, and right: Position?, replica: Replica, nonce: UInt64
  ) -> [Position] {
    var run: [Position] = []
    run.reserveCapacity(max(count, 0))
    while run.count < count {
      run.append(between(run.last ?? left, right, replica: replica, nonce: nonce))
    }
    return run
  }

  private static func bounded(
    _ bytes: [UInt8], in gap: PositionGap, elseEqualTo neighbour: Position?
  ) -> Position {
    if bytes.count <= maximumLength { return Position(unchecked: bytes) }
    if let shorter = gap.shortcut() { return Position(unchecked: shorter) }
    return neighbour ?? Position(unchecked: bytes)
  }
}
