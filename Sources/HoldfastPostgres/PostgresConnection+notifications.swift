internal import CPostgres
import HoldfastConcurrency

/// What `NOTIFY` sent.
public struct PostgresNotification: Sendable, Hashable {
  /// The channel's name.
  public let channel: String
  /// The text that came with it; empty when none did.
  public let payload: String
  /// The server's process of the connection that sent it.
  public let serverProcess: Int32
}

extension PostgresConnection {
  /// Begins to receive what is sent to a channel, until the connection ends.
  ///
  /// - Parameter channel: its name, exact to the letter's case; at most 63 bytes.
  public func listen(_ channel: String) throws(PostgresError) {
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    try execute("LISTEN \"\(quoted)\"")
  }

  /// Waits for notifications, and gives those that came since the last call.
  ///
  /// Notifications come while the connection is in no transaction.
  /// - Parameters:
  ///   - timeout: how long to wait for the first; zero only looks, nil waits for ever.
  ///   - waker: ends the wait when another thread calls its `wake`.
  /// - Returns: what came, in order; nothing after the timeout or a `wake`.
  /// - Throws: `.connectionLost`. What is sent until another connection listens is missed.
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

  /// Whether the connection still seems to be there, without asking the server: a server that went away, or was
  /// told to end the connection, has left something to read.
  var seemsAlive: Bool {
    guard isUsable, transactionStatus == .idle else { return false }
    if Readiness.wait(for: .readable, of: PQsocket(connection), until: .now).isEmpty { return true }
    // A notification or a changed setting is no reason to give the connection up.
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
