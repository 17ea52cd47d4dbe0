import HoldfastCore

/// What the database says of the device.
struct DeviceState: Sendable {
  var device: String?
  var user: String?
  var name: String?
  /// Whether there is a session. Its token may be where it can't be read now: see `LocalDatabase.sessionToken`.
  var isSignedIn: Bool
  var clock: Stamp
  /// The number of the next operation, and the chain that it continues: they follow from the outbox, and from what is confirmed.
  var nextNumber: Int64
  var chain: Fingerprint
  var confirmed: Int64
  var confirmedChain: Fingerprint
  var mustResend: Bool
  var replica: String
  /// The number of the device's last session; 0 when the server did not say.
  var session: Int64
  /// The clock of the last answer that was applied.
  var lastServerClock: Stamp
  /// What shows the server how far it has dealt with this device.
  var proof: String
  /// The number of the last transaction that can be, or could be, undone.
  var lastUndo: Int64
}
