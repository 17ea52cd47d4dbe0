import HoldfastConcurrency
import HoldfastHTTP
import HoldfastService

/// A cache from tokens to devices. A valid token always belongs to the same device. So a write needs no lookup here, as the writer checks
/// the device again.
///
/// @unchecked Sendable: accessed only with the lock held.
final class DeviceKeys: @unchecked Sendable {
  private static let limit = 50_000

  private let measured: @Sendable () -> Int64
  private let lock = Lock()
  private var keys: [TokenHash: (key: DeviceKey, end: Int64)] = [:]

  /// - Parameter measured: a monotonic clock in milliseconds.
  init(_ measured: @escaping @Sendable () -> Int64) { self.measured = measured }

  /// The cached device of a token; nil if unknown, or if its session may have ended.
  subscript(token: TokenHash) -> DeviceKey? {
    let now = measured()
    return lock.hold { keys[token].flatMap { now < $0.end ? $0.key : nil } }
  }

  /// Removes an invalid token. The key of a JWT can pass to another device after its user is erased.
  func remove(_ token: TokenHash) { lock.hold { keys[token] = nil } }

  /// Caches the device of a token.
  ///
  /// - Parameter rest: the lifetime of the entry in milliseconds.
  func insert(_ key: DeviceKey, for rest: Int64) {
    let end = measured() + rest
    lock.hold {
      if keys.count >= Self.limit { keys.removeAll(keepingCapacity: true) }
      keys[key.token] = (key, end)
    }
  }
}
