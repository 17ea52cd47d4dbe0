import CCurl
import Foundation

/// HTTP requests over libcurl, with connections that are kept for later requests.
///
/// One thread of its own drives all requests; it is there from the first one to the end of the client, which cancels those under way. No
/// redirect is followed. Authorities are the system's, or those of the file that `SSL_CERT_FILE` names. Any thread may use a client.
///
/// Source: <https://curl.se/libcurl/c/libcurl-multi.html>.
package final class HTTPClient: Sendable {
  private let limits: HTTPClientLimits
  private let loop: TransferLoop

  /// A client that keeps these limits for each request.
  package init(_ limits: HTTPClientLimits = HTTPClientLimits()) {
    self.limits = limits
    loop = TransferLoop()
  }

  deinit { loop.stop() }

  /// Sends a request and waits for its whole answer.
  ///
  /// - Throws: `HTTPClientError`; `cancelled` when the task was cancelled meanwhile.
  package func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientAnswer {
    let ticket = TransferTicket()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(request, ticket) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      loop.cancel(ticket)
    }
    return try result.get()
  }

  /// Sends a request and waits for its whole answer on this thread.
  ///
  /// - Throws: `HTTPClientError`.
  package func sendAndWait(_ request: HTTPClientRequest) throws(HTTPClientError) -> HTTPClientAnswer {
    let arrival = Arrival()
    start(request, TransferTicket()) { arrival.come($0) }
    return try arrival.wait().get()
  }

  /// Sends a request and hands the content on as it comes.
  ///
  /// The stream waits for nobody: one that is not read while `pieceLimit` pieces come is broken off. Whoever stops reading ends the request.
  ///
  /// - Parameter accept: looks at the head before any content; an error that it returns ends the stream.
  package func stream(
    _ request: HTTPClientRequest, pieceLimit: Int = 1024,
    accept: @escaping @Sendable (HTTPClientHead) -> (any Error)?
  ) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream(bufferingPolicy: .bufferingOldest(pieceLimit)) { continuation in
      let ticket = TransferTicket()
      continuation.onTermination = { [loop] _ in loop.cancel(ticket) }
      let receiver = Transfer.Receiver(
        head: { head in
          guard let refusal = accept(head) else { return true }
          continuation.finish(throwing: refusal)
          return false
        },
        content: { bytes in
          guard case .dropped = continuation.yield(bytes) else { return true }
          continuation.finish(
            throwing: HTTPClientError(code: .tooLarge, description: "The stream was not read in time."))
          return false
        },
        end: { _, error in continuation.finish(throwing: error) })
      start(request, ticket, receiver)
    }
  }

  private func start(
    _ request: HTTPClientRequest, _ ticket: TransferTicket,
    _ done: @escaping @Sendable (Result<HTTPClientAnswer, HTTPClientError>) -> Void
  ) {
    let content = Content()
    let receiver = Transfer.Receiver(
      content: { content.add($0) },
      end: { head, error in
        done(error.map { .failure($0) } ?? .success(HTTPClientAnswer(head: head, body: content.bytes)))
      })
    start(request, ticket, receiver)
  }

  private func start(_ request: HTTPClientRequest, _ ticket: TransferTicket, _ receiver: Transfer.Receiver) {
    do {
      loop.add(try Transfer(request, limits, receiver), ticket)
    } catch {
      receiver.end(HTTPClientHead(), error)
    }
  }
}

/// What has come of an answer.
///
/// @unchecked Sendable: the client's thread alone touches it.
private final class Content: @unchecked Sendable {
  private(set) var bytes: [UInt8] = []

  func add(_ more: [UInt8]) -> Bool {
    bytes += more
    return true
  }
}

/// A place where one thread waits for another's result.
///
/// @unchecked Sendable: `result` is written once before the semaphore is signalled, and read after.
private final class Arrival: @unchecked Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private var result = Result<HTTPClientAnswer, HTTPClientError>.failure(
    HTTPClientError(code: .failed, description: "No answer came."))

  func come(_ result: Result<HTTPClientAnswer, HTTPClientError>) {
    self.result = result
    semaphore.signal()
  }

  func wait() -> Result<HTTPClientAnswer, HTTPClientError> {
    semaphore.wait()
    return result
  }
}
