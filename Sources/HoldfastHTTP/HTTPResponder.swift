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

  deinit {
    exchange.answer(.failure(500))
  }
}
