/// An answer without an end: bytes that are sent whenever there are some, as Server-Sent Events are.
///
/// The connection costs no thread, and no buffer but the socket's. What it holds for a client that does not read is bounded
/// (`bufferSize`); a client that falls behind further is cut. The connection serves no other request afterwards.
public final class HTTPStream: Sendable {
  /// How many bytes may wait for a client that does not take them, in the socket's own buffer; 64 KiB, of which the system needs a part for
  /// itself.
  public static let bufferSize = 64 << 10

  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Sends bytes, all or none, and never waits. Any thread.
  ///
  /// - Returns: whether they are on their way. False when the stream has ended, and when the client did not take what was sent
  ///   before: then it is cut.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool { exchange.sendStreamed(bytes) }

  /// Ends the answer and the connection. Any thread; a second call does nothing.
  public func finish() { exchange.endStream() }
}
