import HoldfastCore
import HoldfastPostgres
import HoldfastService
import Synchronization

/// What the connections of a process have read: docs/POSTGRES.md, section 5.
///
/// A database that has crashed, was put back or promoted gives numbers of transactions out again. That ends all connections. So a state is of the
/// time since the last connection was opened, and what was known before is of no state any more.
package final class PostgresReadCache: Sendable {
  let rows: ReadCache<SnapshotState>
  private let opened = Atomic(0)

  package init(limit: Int = CachedRows.limit) { rows = ReadCache(limit: limit) }

  /// Notes a connection that was opened, before anything is read over it. Where it leads to another server than the older ones, what those still
  /// read is known by its epoch from then on.
  func open(_ connection: PostgresConnection, _ known: KnownHistory) throws(PostgresError) {
    known.see(try PostgresEpoch.current(connection.queryOnce(PostgresEpoch.find), on: connection))
    open()
  }

  func open() { opened.add(1, ordering: .sequentiallyConsistent) }

  /// How many connections were opened: to be asked for before the snapshot of a state.
  var connections: Int { opened.load(ordering: .sequentiallyConsistent) }

  /// The state in which all of it is true, if that may be the one of the database.
  var state: SnapshotState? { rows.quietState.flatMap { $0.connections == connections ? $0 : nil } }

  /// The devices of tokens of which all is known in a state.
  func devices(_ tokens: Set<TokenHash>, at state: SnapshotState) -> [TokenHash: PostgresFindings.Found] {
    typealias Known = (device: KnownDevice, zones: [ZoneProgress], hasAnswer: Bool, history: History)
    let known = rows.find(at: state) { rows in
      tokens.compactMap { token -> Known? in
        guard let (device, history) = rows.device(token), rows.hasNoRefusals(device.key.number),
          let zones = rows.zones(of: device.key.number)
        else { return nil }
        return (device, zones, rows.hasAnswer(device.key.number), history)
      }
    }
    var devices: [TokenHash: PostgresFindings.Found] = [:]
    for (device, zones, hasAnswer, history) in known ?? [] {
      // Only an answer without changes is kept.
      let waiting = hasAnswer ? [] : ZoneProgress.waiting(zones, epoch: history.epoch)
      devices[device.key.token] = .init(
        device: device, zones: zones, waiting: waiting, state: state, history: history)
    }
    return devices
  }

  /// Keeps devices that were read in a state.
  func keep(_ devices: some Sequence<PostgresFindings.Found>, _ history: History, at state: SnapshotState) {
    rows.begin(at: state) { state.connections == connections && state.isCurrent(beside: $0) }
    rows.keep(at: state) { rows in
      for found in devices where found.refusals.isEmpty {
        guard let device = found.device else { continue }
        rows.keep(device, history)
        rows.keep(found.zones, of: device.key)
        rows.keepNoRefusals(of: device.key.number)
      }
    }
  }
}
