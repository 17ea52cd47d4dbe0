/// A history that begins: docs/RESTORING.md, section 3.
struct NewEpoch: Sendable {
  /// 8 hex digits.
  let id: String
  /// Milliseconds since 1970.
  let began: Int64

  init(_ environment: ServerEnvironment) {
    id = hexadecimal(environment.random(4))
    began = environment.now()
  }
}

/// The identity of a server's history; docs/RESTORING.md, section 3.
struct History: Sendable {
  /// The epoch of now: 8 hex digits.
  let epoch: String
  /// The one from whose middle the database was restored; nil when it never was.
  var previous: String?

  /// Whether an ack is of another history.
  func isForeign(_ ack: SyncCommand.Ack) -> Bool { !ack.epoch.isEmpty && ack.epoch != epoch }

  /// Whether what an ack says is true in this history, too.
  ///
  /// - Parameter restored: the seq of its zone at the restore; nil where there is no such zone.
  func agrees(with ack: SyncCommand.Ack, restored: Int64?) -> Bool {
    guard isForeign(ack) else { return true }
    guard let previous, let restored else { return false }
    // What moved since behind a page that came is on none of those that are still to come: half a download is true in one history alone.
    return ack.epoch == previous && ack.purged == 0 && ack.seq <= restored
  }
}
