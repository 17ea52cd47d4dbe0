/// An answer without a fixed end: bytes are sent whenever there are some, as with Server-Sent Events.
///
/// The connection blocks no thread, and has no buffer besides the socket's. A client that does not read can leave at most `bufferSize`
/// bytes there; beyond that the stream is cut. The connection serves no other request afterwards.
public final class HTTPStream: Sendable {
  /// The maximum number of unread bytes in the socket's buffer: 64 KiB, including the system's overhead.
  public static let bufferSize = 64 << 10

  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Sends all bytes or none. Never blocks; callable from any thread.
  ///
  /// - Returns: whether they are sent. False if the stream has ended, or the client has not read earlier bytes; the stream is then cut.
  @discardableResult
  public func send(_ bytes: [UInt8]) -> Bool { exchange.sendStreamed(bytes) }

  /// Ends the answer and the connection. Callable from any thread; a second call does nothing.
  public func finish() { exchange.endStream() }
}
