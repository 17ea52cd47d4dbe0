import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// The devices of tokens that were seen lately: a token is that of one device as long as it is good, so a request that writes, and is looked at again by
/// the writer, need not be looked up before.
///
/// @unchecked Sendable: touched under the lock alone.
final class DeviceKeys: @unchecked Sendable {
  private static let limit = 50_000

  private let measured: @Sendable () -> Int64
  private let lock = Lock()
  private var keys: [TokenHash: (key: DeviceKey, end: Int64)] = [:]

  /// - Parameter measured: the time as it is measured, in milliseconds.
  init(_ measured: @escaping @Sendable () -> Int64) { self.measured = measured }

  /// The device of a token, if it was seen, and the session is not known to have ended.
  subscript(token: TokenHash) -> DeviceKey? {
    let now = measured()
    return lock.hold { keys[token].flatMap { now < $0.end ? $0.key : nil } }
  }

  /// Removes a token that is not good any more: a JWT may be taken for somebody else's, when its user was erased.
  func remove(_ token: TokenHash) { lock.hold { keys[token] = nil } }

  /// Remembers the device of a token.
  ///
  /// - Parameter rest: after how many milliseconds it is to be looked up again.
  func insert(_ key: DeviceKey, for rest: Int64) {
    let end = measured() + rest
    lock.hold {
      if keys.count >= Self.limit { keys.removeAll(keepingCapacity: true) }
      keys[key.token] = (key, end)
    }
  }
}
