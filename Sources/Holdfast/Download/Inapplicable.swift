/// Why an answer was not applied.
enum Inapplicable: Error {
  /// The device's identity changed after the request was made; ask again.
  case outdated
  /// The server knows other content under this device's numbers: this database is a copy.
  case diverged
  /// The file of a staged page is gone, or a record that this device sent: the zone is resynced.
  case incomplete(zone: String)
  /// A staged page is as it came, and can't be read: the zone is resynced, but not again and again.
  case unreadable(zone: String, reason: any Error)
}
