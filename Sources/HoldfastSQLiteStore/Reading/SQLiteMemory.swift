import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// What is known of one state of the database without asking it.
struct SQLiteMemory: StoreMemory {
  let cache: ReadCache<CommitState>
  let state: CommitState

  func device(_ token: TokenHash) -> (device: KnownDevice, history: History)? {
    cache.find(at: state) { $0.device(token) }
  }

  func answer(to request: QuietRequest, of device: Int64) -> [UInt8]? {
    cache.find(at: state) { $0.answer(to: request, of: device) }
  }

  func zone(_ zone: String, for user: String) -> ZoneProgress? {
    cache.find(at: state) { $0.zone(zone, for: user) }
  }
}

extension CommitState: DatabaseState {}
