import HoldfastCore

/// All of a device's database that the model looks at, at one moment.
struct DeviceView: Sendable {
  /// A refused change set.
  struct Quarantined: Sendable {
    let number: Int64
    let body: String
    let problem: String
  }

  /// An edit that the server has not confirmed; `base` is what its column returns to.
  struct Edit: Sendable {
    let key: RecordKey
    let kind: String
    let column: String
    let base: Cell
    /// Whether it is in no change set yet, as what another program wrote.
    var isLoose = false
  }

  /// How far a zone has come.
  struct Zone: Sendable {
    let token: String
    let ack: String?
    let role: String
    /// Whether it comes again, and what is here is not to be trusted.
    let isResync: Bool
  }

  var tables: Tables = [:]
  /// Bodies of the change sets that are not confirmed, oldest first.
  var outbox: [String] = []
  var quarantine: [Quarantined] = []
  var edits: [Edit] = []
  var zones: TextMap<Zone> = [:]
  /// How many records are to be recovered to a restored server.
  var recovered: Int64 = 0
  /// The zones of which a restored server does not know whether they may be read.
  var held: [String] = []
}
