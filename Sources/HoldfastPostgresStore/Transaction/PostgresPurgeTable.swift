import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Purges in a store's transaction, with the device or zone locked.
final class PostgresPurgeTable: PurgeTable {
  private unowned let store: PostgresStore

  init(_ store: PostgresStore) { self.store = store }

  func purge(_ item: Purgeable, _ terms: RetentionTerms) throws -> Purged {
    // The footprint of the command has locked the zone.
    if case .tombstones(let zone) = item, try store.zones.lock(zone) == nil { return Purged() }
    return try table.purge(item, terms)
  }

  func time() throws -> TrustedTime? { try table.time() }

  func lockTime() throws -> TrustedTime? { try table.lockTime() }

  func setTime(_ time: TrustedTime) throws { try table.setTime(time) }

  func rollBack(to now: Int64) throws { try table.rollBack(to: now) }

  private var table: PostgresPurge {
    get throws { PostgresPurge(connection: try store.connection) }
  }
}
