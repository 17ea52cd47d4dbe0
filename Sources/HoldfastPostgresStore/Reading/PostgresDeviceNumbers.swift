import HoldfastService
import Synchronization

/// The numbers of devices by the hashes of their tokens. A token does not say on which shard its device is: this spares each request the
/// question to all of them. A number is a hint, verified by reading the device with its token.
final class PostgresDeviceNumbers: Sendable {
  /// The maximum number of entries, about 64 bytes each. Above it, all are removed.
  private static let limit = 200_000

  private let numbers = Mutex<[TokenHash: Int64]>([:])

  subscript(token: TokenHash) -> Int64? {
    get { numbers.withLock { $0[token] } }
    set {
      numbers.withLock { numbers in
        if numbers.count >= Self.limit { numbers.removeAll() }
        numbers[token] = newValue
      }
    }
  }
}
