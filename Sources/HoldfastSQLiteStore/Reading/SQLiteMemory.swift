import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// What is known of one state of the database without asking it.
struct SQLiteMemory: StoreMemory {
  let cache: ReadCache
  let state: CommitState

  func device(_ token: TokenHash) -> (device: KnownDevice, history: History)? {
    cache.device(token, at: state)
  }

  func answer(to request: QuietRequest, of device: Int64) -> [UInt8]? {
    cache.answer(to: request, of: device, at: state)
  }

  func zone(_ zone: String, for user: String) -> ZoneProgress? { cache.zone(zone, for: user, at: state) }
}
