extension Position {
  /// Makes a place between two neighbours of a list; a pure function of what it is given.
  ///
  /// The result is strictly between its neighbours, and differs from every other replica's. Runs that replicas insert at the
  /// same place without knowing of each other, forward, backward or both, don't interleave.
  ///
  /// Should `left` not be before `right`, the result comes after `left`, and `right` is ignored. Should two neighbours be so close
  /// that what is between them is longer than ``maximumLength``, the result is equal to `left`, and ids decide: the list
  /// keeps one order on all devices.
  ///
  /// - Parameters:
  ///   - left: the neighbour before, nil at the list's start.
  ///   - right: the neighbour after, nil at the list's end.
  ///   - replica: this device.
  ///   - nonce: random bits, fresh for each call. They tell apart two positions that a replica makes between the same
  ///     neighbours, because a view hid a record that is there or its first one was deleted or moved.
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
