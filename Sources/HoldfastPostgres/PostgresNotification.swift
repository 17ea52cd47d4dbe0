internal import CPostgres

/// A notification from `NOTIFY`.
public struct PostgresNotification: Sendable, Hashable {
  /// The channel's name.
  public let channel: String
  /// The payload; empty if there is none.
  public let payload: String
  /// The process id of the sending connection's server process.
  public let serverProcess: Int32
}

extension PostgresNotification {
  init(_ notification: PGnotify) {
    channel = notification.relname.map { String(cString: $0) } ?? ""
    payload = notification.extra.map { String(cString: $0) } ?? ""
    serverProcess = notification.be_pid
  }
}
