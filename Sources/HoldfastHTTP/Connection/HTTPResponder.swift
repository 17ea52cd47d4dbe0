/// The duty to answer one request, exactly once, at any time and from any thread.
///
/// An answer given before the handler returns is sent at once by the same thread. A handler that returns without one
/// leaves the connection waiting, at the cost of no thread, until the answer comes. A responder that is let go without
/// an answer answers 500.
public final class HTTPResponder: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Answers with `response`. Any thread.
  ///
  /// - Returns: whether this is the answer that is used: false if there was one before, or if the server was stopped
  ///   and its time of grace ran out.
  @discardableResult
  public func respond(_ response: HTTPResponse) -> Bool {
    exchange.answer(.response(response))
  }

  /// Answers with what `make` returns; `make` runs soon after on the connection's own HTTP thread, where it must not
  /// block. For work that one thread does for many requests, such as a shared commit: the making of the answers is
  /// then spread over the HTTP threads. Any thread.
  ///
  /// - Returns: as for `respond(_:)`; if it is false, `make` is not called.
  @discardableResult
  public func respond(_ make: @escaping @Sendable () -> HTTPResponse) -> Bool {
    exchange.answer(.make(make))
  }

  /// Answers with a head and no end: the answer goes on until the stream or its client ends it, or the server stops. Any thread.
  ///
  /// The head is sent at once, with `Date` and `Connection: close`; there is no `Content-Length`, and no chunks, as the end of the connection is the
  /// end of the content (RFC 9112, section 6.3). For GET only: an answer to HEAD has no content.
  ///
  /// - Parameters:
  ///   - status: the status code, 200...599.
  ///   - headers: the header fields; see `HTTPResponse.headers`.
  ///   - onEnd: called exactly once, when the stream has ended for whatever reason, on any thread, where it must not block. It may be called
  ///     before this returns, and must not use the stream.
  /// - Returns: the stream; nil if there was an answer before, or if the server is stopping: then `onEnd` is not called, and the request is
  ///   answered 503.
  public func stream(
    status: Int = 200, headers: [(name: String, value: String)] = [],
    onEnd: @escaping @Sendable () -> Void
  ) -> HTTPStream? {
    if exchange.beginStream(exchange.streamHead(status, headers), onEnd: onEnd) {
      return HTTPStream(exchange)
    }
    exchange.answer(.failure(503))
    return nil
  }

  deinit {
    exchange.answer(.failure(500))
  }
}

/// The duty to say, exactly once, whether the content of a request is to be read: at any time, from any thread. Until then none of it is.
///
/// One that is let go without a word refuses with 500.
public final class HTTPAdmission: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Has the content read; the handler gets the request when it is whole.
  ///
  /// - Parameters:
  ///   - maximumBodyBytes: how many bytes it may have, also when a coding is taken off, if that is less than the limit of all.
  ///   - payer: who has to answer for the memory that it takes, as `HTTPResponse.payers`; nil for the peer's address.
  public func admit(maximumBodyBytes: Int = .max, payer: String? = nil) {
    exchange.answer(.admitted(maximumBodyBytes: maximumBodyBytes, payer: payer))
  }

  /// Answers the request without its content, and ends the connection.
  public func refuse(_ response: HTTPResponse) { exchange.answer(.response(response)) }

  deinit {
    exchange.answer(.failure(500))
  }
}
