/// The obligation to answer one request exactly once, at any time and from any thread.
///
/// An answer set before the handler returns is sent immediately by the same thread. If the handler returns without one, the connection
/// waits for it without blocking a thread. A responder that is released without an answer answers 500.
public final class HTTPResponder: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Answers with `response`. Callable from any thread.
  ///
  /// - Returns: whether this answer is used. False if there was one before, or the server was stopped and its grace period has ended.
  @discardableResult
  public func respond(_ response: HTTPResponse) -> Bool {
    exchange.answer(.response(response))
  }

  /// Answers with the result of `make`, which soon runs on the connection's own HTTP thread and must not block. Use it when one thread
  /// answers many requests, such as after a shared commit. The encoding of the answers is then spread over the HTTP threads. Callable from
  /// any thread.
  ///
  /// - Returns: as for `respond(_:)`; if it is false, `make` is not called.
  @discardableResult
  public func respond(_ make: @escaping @Sendable () -> HTTPResponse) -> Bool {
    exchange.answer(.make(make))
  }

  /// Answers with a head and a stream that continues until the stream or its client ends it, or the server stops. Callable from any thread.
  ///
  /// The head is sent immediately, with `Date` and `Connection: close`. It has neither `Content-Length` nor chunks: the end of the
  /// connection is the end of the content (RFC 9112, section 6.3). For GET only, because an answer to HEAD has no content.
  ///
  /// - Parameters:
  ///   - status: the status code, 200...599.
  ///   - headers: the header fields; see `HTTPResponse.headers`.
  ///   - onEnd: called exactly once when the stream has ended, on any thread, where it must not block. It may be called before this
  ///     returns, and must not use the stream.
  /// - Returns: the stream. Nil if there was an answer before, or the server is stopping; then `onEnd` is not called, and the request is
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

/// The obligation to decide exactly once whether to read the body of a request: at any time, from any thread. Nothing of it is read before.
///
/// An admission that is released without a decision refuses with 500.
public final class HTTPAdmission: Sendable {
  private let exchange: Exchange

  init(_ exchange: Exchange) {
    self.exchange = exchange
  }

  /// Reads the body. The handler receives the complete request.
  ///
  /// - Parameters:
  ///   - maximumBodyBytes: the maximum size of the body, also after decoding, if it is less than the server's limit.
  ///   - payer: the payer that the memory counts for, as in `HTTPResponse.payers`; nil for the peer's address.
  public func admit(maximumBodyBytes: Int = .max, payer: String? = nil) {
    exchange.answer(.admitted(maximumBodyBytes: maximumBodyBytes, payer: payer))
  }

  /// Answers the request without reading its body, and ends the connection.
  public func refuse(_ response: HTTPResponse) { exchange.answer(.response(response)) }

  deinit {
    exchange.answer(.failure(500))
  }
}
