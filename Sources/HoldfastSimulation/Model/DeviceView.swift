import HoldfastCore

/// A snapshot of a device's database, as far as the model checks it.
struct DeviceView: Sendable {
  /// A refused change set.
  struct Quarantined: Sendable {
    let number: Int64
    let body: String
    let problem: String
  }

  /// An edit that the server has not confirmed; `base` is the value to restore.
  struct Edit: Sendable {
    let key: RecordKey
    let kind: String
    let column: String
    let base: Cell
    /// Whether it is in no change set yet, like writes of another program.
    var isLoose = false
  }

  /// The progress of a zone.
  struct Zone: Sendable {
    let token: String
    let ack: String?
    let role: String
    /// Whether the zone is being resynced, so that its local copy is not authoritative.
    let isResync: Bool
  }

  var tables: Tables = [:]
  /// The bodies of the unconfirmed change sets, oldest first.
  var outbox: [String] = []
  var quarantine: [Quarantined] = []
  var edits: [Edit] = []
  var zones: TextMap<Zone> = [:]
  /// The number of records to recover on a restored server.
  var recovered: Int64 = 0
  /// The zones that await recovery.
  var held: [String] = []
}
