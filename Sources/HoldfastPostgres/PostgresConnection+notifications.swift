internal import CPostgres
import HoldfastConcurrency

/// A notification from `NOTIFY`.
public struct PostgresNotification: Sendable, Hashable {
  /// The channel's name.
  public let channel: String
  /// The payload; empty if there is none.
  public let payload: String
  /// The process id of the sending connection's server process.
  public let serverProcess: Int32
}

extension PostgresConnection {
  /// Subscribes to a channel until the connection ends.
  ///
  /// - Parameter channel: its name, case-sensitive; at most 63 bytes.
  public func listen(_ channel: String) throws(PostgresError) {
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    try execute("LISTEN \"\(quoted)\"")
  }

  /// Waits for notifications, and returns those since the last call.
  ///
  /// Notifications arrive only outside of transactions.
  /// - Parameters:
  ///   - timeout: how long to wait for the first; zero polls, nil waits without limit.
  ///   - waker: ends the wait when another thread calls its `wake`.
  /// - Returns: the notifications in order; none after the timeout or a `wake`.
  /// - Throws: `.connectionLost`. Notifications are missed until another connection listens.
  public func notifications(
    timeout: Duration?, waker: PostgresWaker? = nil
  ) throws(PostgresError) -> [PostgresNotification] {
    let connection = connection
    let deadline = timeout.map { MonotonicTime.exact + $0 }
    while true {
      if PQconsumeInput(connection) == 0 { throw lostWhileWaiting() }
      var received: [PostgresNotification] = []
      while let next = PQnotifies(connection) {
        received.append(PostgresNotification(next.pointee))
        PQfreemem(next)
      }
      if !received.isEmpty { return received }
      if PQstatus(connection) != CONNECTION_OK { throw lostWhileWaiting() }
      let ready = Readiness.wait(
        for: .readable, of: PQsocket(connection), orReadable: waker?.reading ?? -1, until: deadline)
      if ready.other { waker?.reset() }
      if !ready.first.contains(.readable) { return [] }
    }
  }

  private func lostWhileWaiting() -> PostgresError {
    PostgresError(nil, of: connection, while: .waiting, statement: nil)
  }

  /// Whether the connection seems to be open, checked without a round trip. A server that ended the connection has left something to read.
  var seemsAlive: Bool {
    guard isUsable, transactionStatus == .idle else { return false }
    if Readiness.wait(for: .readable, of: PQsocket(connection), until: .now).isEmpty { return true }
    // A notification or a changed setting is no reason to discard the connection.
    return PQconsumeInput(connection) == 1 && isUsable
      && Readiness.wait(for: .readable, of: PQsocket(connection), until: .now).isEmpty
  }
}

extension PostgresNotification {
  init(_ notification: PGnotify) {
    channel = notification.relname.map { String(cString: $0) } ?? ""
    payload = notification.extra.map { String(cString: $0) } ?? ""
    serverProcess = notification.be_pid
  }
}
