import HoldfastHTTP

/// The devices of tokens that were seen lately: a token is that of one device as long as it is good, so a request that writes, and is looked at again by
/// the writer, need not be looked up before.
///
/// @unchecked Sendable: touched under the lock alone.
final class DeviceKeys: @unchecked Sendable {
  private static let limit = 50_000

  private let lock = Lock()
  private var keys: [TokenHash: (key: DeviceKey, end: Int64)] = [:]

  /// The device of a token, if it was seen, and the session is not known to have ended.
  func key(of token: TokenHash, at now: Int64) -> DeviceKey? {
    lock.hold { keys[token].flatMap { now < $0.end ? $0.key : nil } }
  }

  /// Forgets a token that is not good any more: a JWT may be taken for somebody else's, when its user was erased.
  func remove(_ token: TokenHash) { lock.hold { keys[token] = nil } }

  /// Remembers the device of a token.
  ///
  /// - Parameter end: when it is to be looked up again, as time is measured.
  func insert(_ key: DeviceKey, until end: Int64) {
    lock.hold {
      if keys.count >= Self.limit { keys.removeAll(keepingCapacity: true) }
      keys[key.token] = (key, end)
    }
  }
}
