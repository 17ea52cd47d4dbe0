import HoldfastCore

/// What users may still store, as one writer knows it. The bytes of a user's zones are not summed up at each write: a sum leaves some room, which
/// writes then take without another one. Until its first sum in this process a user has a little room.
struct UserRoom {
  /// The bytes that each user may add before the next sum.
  private var left: TextMap<Int64> = [:]
  private static let users = 100_000
  /// The most that is taken without another sum.
  static let most: Int64 = 16 << 20

  /// Takes room for a change set.
  ///
  /// - Parameters:
  ///   - growth: the bytes that it adds.
  ///   - limit: the bytes that the user's zones may hold.
  ///   - stored: sums up what they hold.
  /// - Returns: false if there is not enough.
  mutating func take(
    _ growth: Int64, of user: String, limit: Int64, stored: () throws -> Int64
  ) rethrows -> Bool {
    let known = left[user] ?? min(1 << 20, limit / 16)
    if growth <= known {
      keep(known - growth, of: user)
      return true
    }
    let room = try limit - stored() - growth
    if room < 0 { return false }
    keep(min(room, Self.most, max(room / 16, 1 << 16)), of: user)
    return true
  }

  private mutating func keep(_ room: Int64, of user: String) {
    if left.count >= Self.users, left[user] == nil { left.removeAll() }
    left[user] = room
  }
}
